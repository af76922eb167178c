import { appendChanges } from '../log/change-log.ts';
import type { Tx } from '../store.ts';
import { withdrawnChange } from './snapshot.ts';
import { abandonedVersions, markRetired, type VersionRow } from './versions.ts';

/** Retires versions, served ones and ones that are being imported. Call it last in a unit. @returns those that it retired */
export async function retireVersions(
  tx: Tx,
  versions: readonly VersionRow[],
  now: number,
): Promise<VersionRow[]> {
  const retired: VersionRow[] = [];
  for (const version of versions) if (await markRetired(tx, version.id, now)) retired.push(version);
  if (retired.length === 0) return retired;
  const changes = retired.map(({ id }) => ({
    owner: null,
    cause: 'direct' as const,
    ...withdrawnChange(id),
  }));
  await appendChanges(tx, changes, now);
  return retired;
}

/** Gives up imports that nobody has gone on with since before this time. */
export async function retireAbandoned(tx: Tx, before: number, now: number): Promise<void> {
  await retireVersions(tx, await abandonedVersions(tx, before), now);
}
