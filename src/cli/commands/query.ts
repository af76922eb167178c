import { type Command, Option } from 'commander';
import type { QueryOptions } from '../actions/query.ts';
import type { ReadOptions } from '../actions/read.ts';
import { type Builder, examples } from '../builder.ts';

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
    .addHelpText(
      'after',
      examples(
        'uqrp read greeting.acme.v1',
        'uqrp read logo.acme.v1 > logo.png',
        'UQRP_QUERY_TOKEN=$TOKEN uqrp read greeting.acme.v1 --dot --server localhost',
      ),
    )
    .action(async (name: string, options: ReadOptions) =>
      (await import('../actions/read.ts')).readRecord(name, { ...options, json: json() }),
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
    .addHelpText(
      'after',
      examples(
        'uqrp query get.100-km-to-mi.units.public.v1',
        'uqrp query get.auth-TOKEN.greeting.acme.v1 --dot --server localhost',
        'uqrp query manifest.gtin-demo.datasets.public.v1 --verify items.jsonl',
      ),
    )
    .action(async (name: string, { verify, ...options }: QueryOptions & { readonly verify?: string }) => {
      const asked = { ...options, json: json() };
      if (verify === undefined) return (await import('../actions/query.ts')).query(name, asked);
      const { verifyPublished } = await import('../actions/verify-published.ts');
      return await verifyPublished(name, { ...asked, verify });
    });
}
