/** Names, options and help texts of the commands that ask over DNS. */
import { type Command, Option } from 'commander';
import type { QueryOptions } from './actions/query.ts';
import type { ReadOptions } from './actions/read.ts';
import type { PublishedCheckOptions } from './actions/verify-published.ts';
import { type Builder, examples } from './commands.ts';

export function addQueryCommands(builder: Builder): void {
  addRead(builder);
  addQuery(builder);
}

function addRead({ program, command, json }: Builder): void {
  const read = command(
    program,
    'read',
    'read a record over DNS and print its payload alone; exit code 1 when there is none',
  ).argument(
    '<name>',
    'key of a record, [<params>.]<resource>.<namespace>.<version>, or a full name within a zone',
  );
  withServer(read)
    .option('--token <token>', 'query token of a private namespace (default: UQRP_QUERY_TOKEN)')
    .option('--key <file>', 'decrypt the value with the keys of this key file')
    .option('--allow-plain', 'with --key: accept text that is not encrypted')
    .option(
      '--signed-by <public-key>',
      'accept only a value that this key has signed: its text, or a file with it; may be repeated',
      (key: string, before: readonly string[] | undefined) => [...(before ?? []), key],
    )
    .option(
      '--max-age <time>',
      'refuse an encrypted or signed value that was written longer ago: 90s, 5m, 24h, 7d',
    )
    .addHelpText(
      'after',
      examples(
        'uqrp read greeting.acme.v1',
        'uqrp read logo.acme.v1 > logo.png',
        'uqrp read db.env.shop.v1 --key shop.key --max-age 7d',
        'UQRP_QUERY_TOKEN=$TOKEN uqrp read greeting.acme.v1 --dot --server localhost',
      ),
    )
    .action(async (name: string, options: ReadOptions) =>
      (await import('./actions/read.ts')).readRecord(name, { ...options, json: json() }),
    );
}

/** Options that say which server is asked, and how. */
function withServer(command: Command): Command {
  return command
    .option('--server <address>', 'address or name of the server (default: UQRP_HOST)')
    .option('--port <port>', 'its port (default: UQRP_DNS_PORT, UQRP_DOT_PORT or UQRP_DOH_PORT)')
    .addOption(new Option('--tcp', 'ask over TCP').conflicts(['dot', 'doh']))
    .addOption(new Option('--dot', 'ask over TLS').conflicts(['tcp', 'doh']))
    .addOption(new Option('--doh', 'ask over HTTPS').conflicts(['tcp', 'dot']));
}

function addQuery({ program, command, json }: Builder): void {
  const query = command(
    program,
    'query',
    'ask for a TXT record and decode its envelope; exit code 1 when there is no answer',
  ).argument(
    '<name>',
    'the name; without a zone of UQRP_ZONES and without a final dot, the first zone is added',
  );
  withServer(query)
    .option(
      '--verify <items>',
      'of a manifest: check its attestation by the published keys, and this items file by its hash',
    )
    .option(
      '--log <policy>',
      'with --verify: check also that a log which this policy trusts has the manifest',
    )
    .addHelpText(
      'after',
      examples(
        'uqrp query get.100-km-to-mi.units.public.v1',
        'uqrp query get.auth-TOKEN.greeting.acme.v1 --dot --server localhost',
        'uqrp query manifest.gtin-demo.datasets.public.v1 --verify items.jsonl',
        'uqrp query manifest.gtin-demo-v-1d2d0.datasets.public.v1 --verify items.jsonl --log policy.txt',
      ),
    )
    .action(async (name: string, options: QueryOptions & PublishedCheckOptions) => {
      const asked = { ...options, json: json() };
      if (options.verify === undefined && options.log === undefined)
        return (await import('./actions/query.ts')).query(name, asked);
      return (await import('./actions/verify-published.ts')).verifyPublished(name, asked);
    });
}
