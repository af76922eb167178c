import { Option } from 'commander';
import type { PutOptions } from '../actions/records.ts';
import { type Builder, examples } from '../builder.ts';

const load = () => import('../actions/records.ts');
const KEY = ['<key>', '[<params>.]<resource>.<namespace>.<version>, for example greeting.acme.v1'] as const;

export function addRecordCommands({ program, command, clock, json }: Builder): void {
  command(program, 'put', 'store text as a record, or replace the record with this key')
    .argument(...KEY)
    .argument('<value>', 'the text; - reads standard input; behind -- it may begin with a hyphen')
    .option('--type <media-type>', 'media type of the value', 'text/plain')
    .option('--ttl <seconds>', 'how long resolvers keep the answer (default: 300)')
    .addOption(
      new Option('--expires-in <seconds>', 'delete the record after this time').conflicts('expiresAt'),
    )
    .option('--expires-at <date>', 'delete the record at this time, for example 2027-01-01T00:00:00Z')
    .option('--user <email>', 'make the namespace for this account, and the account, where they are missing')
    .option('--public-read', 'let everyone read the whole namespace without a token')
    .addHelpText(
      'after',
      examples(
        "uqrp put greeting.acme.v1 'hello world' --user you@example.net --public-read",
        'uqrp put --expires-in 3600 flags.acme.v1 - < flags.json --type application/json',
      ),
    )
    .action(async (key: string, value: string, options: PutOptions) =>
      (await load()).putRecord(clock, key, value, options, json()),
    );
  command(program, 'delete', 'delete a record')
    .argument(...KEY)
    .addHelpText('after', examples('uqrp delete greeting.acme.v1'))
    .action(async (key: string) => (await load()).deleteRecordByKey(clock, key, json()));
}
