import type { Change } from '../../protocol/change.ts';

/** Records, or items of datasets, that one transaction of the view writes: some ten milliseconds. */
const PART = 2000;

/** The changes in runs of at most `PART` records and items, or of one change. */
export function* changeParts(changes: readonly Change[]): Generator<readonly Change[]> {
  let start = 0;
  let weight = 0;
  for (const [i, change] of changes.entries()) {
    const more = change.type === 'dataset.items' ? change.items.length : 1;
    if (i > start && weight + more > PART) {
      yield changes.slice(start, i);
      start = i;
      weight = 0;
    }
    weight += more;
  }
  if (start < changes.length) yield changes.slice(start);
}
