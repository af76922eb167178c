import { type Builder, examples, group } from '../builder.ts';

const load = () => import('../actions/organizations.ts');

export function addOrganizationCommands({ program, command, clock, json }: Builder): void {
  const organization = group(program, 'organization', 'list organizations and change their tiers');
  command(organization, 'list', 'list all organizations').action(async () =>
    (await load()).organizationList(clock, json()),
  );
  command(organization, 'tier', 'move an organization to another tier')
    .argument('<id>', 'id of the organization, as `organization list` prints it')
    .argument('<tier>', 'free, pro, team or enterprise')
    .addHelpText('after', examples('uqrp organization tier 0198f3a0-5f0e-7c11-a2f4-3b1d2c9e8a77 team'))
    .action(async (id: string, tier: string) => (await load()).organizationTier(clock, id, tier, json()));
}
