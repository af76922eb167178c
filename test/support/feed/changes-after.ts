import type { ChangeSource } from '../../../src/feed/ports/change-source.ts';
import type { Change } from '../../../src/protocol/change.ts';

/** Changes after `seq` of the log as it is now, for tests that do not follow it. */
export async function changesAfter(
  source: Pick<ChangeSource, 'bounds' | 'since'>,
  seq: number,
  limit: number,
): Promise<readonly Change[]> {
  const { epoch } = await source.bounds();
  return source.since(epoch, seq, limit);
}
