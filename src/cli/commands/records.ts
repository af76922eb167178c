import { Option } from 'commander';
import type { PutOptions } from '../actions/put-input.ts';
import { type Builder, examples } from '../builder.ts';

const load = () => import('../actions/records.ts');
const KEY = ['<key>', '[<params>.]<resource>.<namespace>.<version>, for example greeting.acme.v1'] as const;

export function addRecordCommands({ program, command, clock, json }: Builder): void {
  command(
    program,
    'put',
    'store text or a file as a record, or replace the record with this key: over REST when UQRP_TOKEN is set, else in the store',
  )
    .argument(...KEY)
    .argument('[value]', 'the text; - reads standard input; behind -- it may begin with a hyphen')
    .option('--file <file>', 'the value is the content of this file, in place of the text')
    .option(
      '--type <media-type>',
      'media type of the value (default: text/plain, of a file application/octet-stream)',
    )
    .option('--ttl <seconds>', 'how long resolvers keep the answer (default: 300)')
    .addOption(
      new Option('--expires <time>', 'delete the record after this time: 30s, 5m, 1h or 7d').conflicts([
        'expiresIn',
        'expiresAt',
      ]),
    )
    .addOption(
      new Option('--expires-in <seconds>', 'delete the record after this time').conflicts('expiresAt'),
    )
    .option('--expires-at <date>', 'delete the record at this time, for example 2027-01-01T00:00:00Z')
    .addOption(
      new Option(
        '--as <email>',
        'write to the store as this account; make the account and the namespace where they are missing',
      ).conflicts('user'),
    )
    .option('--user <email>', 'the same as --as')
    .option('--public-read', 'let everyone read the whole namespace without a token; writes to the store')
    .option('--api <url>', 'REST server for UQRP_TOKEN (default: UQRP_HTTP_HOST and UQRP_HTTP_PORT)')
    .addHelpText(
      'after',
      examples(
        "uqrp put greeting.acme.v1 'hello world' --user you@example.net --public-read",
        'uqrp put flags.acme.v1 --file flags.json --type application/json --expires 1h',
        'UQRP_TOKEN=$TOKEN uqrp put greeting.acme.v1 hello --api https://uqrp.example.com',
      ),
    )
    .action(async (key: string, value: string | undefined, options: PutOptions) =>
      (await load()).putRecord(clock, key, value, options, json()),
    );
  command(program, 'delete', 'delete a record')
    .argument(...KEY)
    .addHelpText('after', examples('uqrp delete greeting.acme.v1'))
    .action(async (key: string) => (await load()).deleteRecordByKey(clock, key, json()));
}
