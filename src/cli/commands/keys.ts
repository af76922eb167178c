import type { DnssecOptions, RolloverOptions } from '../actions/dnssec.ts';
import { type Builder, examples, group } from '../builder.ts';

const load = () => import('../actions/dnssec.ts');
const ZONE = ['--zone <zone>', 'one zone instead of all'] as const;

export function addKeyCommands({ program, command, clock, json }: Builder): void {
  const dnssec = group(program, 'dnssec', 'show and replace the signing keys of the zones');
  command(dnssec, 'ds', 'print the DS records that the parent zone needs')
    .option(...ZONE)
    .addHelpText('after', examples('uqrp dnssec ds', 'uqrp dnssec ds --zone dns.example.com'))
    .action(async (options: DnssecOptions) => (await load()).dnssecDs(clock, options, json()));
  command(dnssec, 'keys', 'list the keys, and the next step of each')
    .option(...ZONE)
    .action(async (options: DnssecOptions) => (await load()).dnssecKeys(clock, options, json()));
  command(dnssec, 'rollover', 'take the next step of a rollover, or print what it waits for')
    .argument('<zsk|ksk>', 'which key is replaced')
    .option(...ZONE)
    .option('--confirm <what>', 'ds-added or ds-removed: what you have checked at the parent')
    .option('--dry-run', 'print the step, and change nothing')
    .option('--despite-nodes', 'switch although a node has not reported the new key')
    .addHelpText('after', examples('uqrp dnssec rollover zsk --dry-run', 'uqrp dnssec rollover zsk'))
    .action(async (role: string, options: RolloverOptions) =>
      (await load()).dnssecRollover(clock, role, options, json()),
    );
}
