/**
 * A process that rebuilds a view until it is killed. Each view has whole records of one number, which is also its
 * cursor.
 */
import { openLmdbWriter } from '../../../src/view/writer.ts';
import { namespaceUpserted, upserted } from './view-changes.ts';

const [path, count] = process.argv.slice(2) as [string, string];
const writer = openLmdbWriter({ path, wipeAfterMs: 0, sortBytes: 65_536 });
for (let round = (writer.cursor() ?? 0) + 1; ; round++) {
  const rebuild = await writer.rebuild();
  await rebuild.load([namespaceUpserted('ns')]);
  for (let i = 0; i < Number(count); i++) await rebuild.load([upserted(`k${i}.res.ns.v1`, String(round))]);
  await rebuild.finish([], round, 'an epoch');
  process.send?.(round);
}
