import type { Clock } from '../../base/clock.ts';
import { listAllOrganizations, setOrganizationTier } from '../../control/organizations/rules.ts';
import { withStore } from '../context.ts';
import { print, table } from '../output.ts';
import { parseTier } from './operator.ts';

export async function organizationList(clock: Clock, json: boolean): Promise<void> {
  const all = await withStore(clock, ({ deps }) => listAllOrganizations(deps));
  if (json) {
    print(JSON.stringify(all));
    return;
  }
  const rows = all.map(({ name, tier, records_count, members_count, owner, id }) => [
    name,
    tier,
    String(records_count),
    String(members_count),
    owner,
    id,
  ]);
  print(table([['NAME', 'TIER', 'RECORDS', 'MEMBERS', 'OWNER', 'ID'], ...rows]));
}

export async function organizationTier(clock: Clock, id: string, tier: string, json: boolean): Promise<void> {
  await withStore(clock, ({ deps }) => setOrganizationTier(deps, id.toLowerCase(), parseTier(tier)));
  print(json ? JSON.stringify({ id, tier }) : `${id} ${tier}`);
}
