import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ComponentType, h, options, render } from 'preact';
import { Listing } from '../../../sdk/src/uqrp-sdk.ts';
import { invalidate } from './resource.ts';
import { type ListingRead, useListing } from './use-listing.ts';

// Effects run in the next turn of the loop: there is no frame to wait for.
options.requestAnimationFrame = (run) => void setImmediate(run);
options.debounceRendering = (run) => void setImmediate(run);

async function settled(): Promise<void> {
  for (let turn = 0; turn < 8; turn++) await nextTurn();
}

it('pages of a listing: following ones stay below a first one that is read again, unless something may be missing', async () => {
  // Newest first; a cursor is the item before the page.
  let stored = [9, 8, 7, 6, 5, 4, 3, 2, 1];
  const list = () =>
    new Listing<number>(async (cursor) => {
      const from = cursor === null ? 0 : stored.findIndex((item) => item < Number(cursor));
      const items = from < 0 ? [] : stored.slice(from, from + 3);
      return { items, next: from >= 0 && stored.length > from + 3 ? String(items.at(-1)) : null };
    });
  let now: ListingRead<number> | null = null;
  const Follower: ComponentType = () => {
    now = useListing('listing', list, (item) => item);
    return null;
  };
  const read = (): ListingRead<number> => now!;
  const place = { nodeType: 1, childNodes: [], firstChild: null } as unknown as Element;
  render(h(Follower, null), place);
  await settled();
  assert.deepEqual(read().items, [9, 8, 7]);
  read().more?.();
  await settled();
  assert.deepEqual(read().items, [9, 8, 7, 6, 5, 4]);

  stored = [11, 10, ...stored];
  invalidate('listing');
  await settled();
  assert.deepEqual(read().items, [11, 10, 9, 8, 7, 6, 5, 4]);
  read().more?.();
  await settled();
  assert.deepEqual([read().items, read().more], [[11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1], undefined]);

  // Three new ones fill the first page: what came between is not known.
  stored = [14, 13, 12, ...stored];
  invalidate('listing');
  await settled();
  assert.deepEqual(read().items, [14, 13, 12]);
  assert.notEqual(read().more, undefined);

  // Everything fits into the first page: nothing that is gone stays.
  stored = [14, 13];
  invalidate('listing');
  await settled();
  assert.deepEqual([read().items, read().more], [[14, 13], undefined]);
  render(null, place);
});
