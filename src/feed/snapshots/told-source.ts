/** Tells that a view is being built: where there are many records that takes hours, in which no snapshot is made. */

import type { Clock } from '../../base/clock.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import type { ChangeSource } from '../ports/change-source.ts';

/** Milliseconds. */
const TELL_MS = 60_000;

/** @param tell is called at most once a minute, while pages of a snapshot come. Must not throw */
export function toldSource(source: ChangeSource, tell: () => void, clock: Clock): ChangeSource {
  let toldAt = Number.NEGATIVE_INFINITY;

  async function* told(pages: AsyncIterable<readonly ChangeBody[]>): AsyncGenerator<readonly ChangeBody[]> {
    for await (const page of pages) {
      // Either way: a clock that was set back.
      if (Math.abs(clock() - toldAt) >= TELL_MS) {
        toldAt = clock();
        tell();
      }
      yield page;
    }
  }

  return {
    ...source,
    async openSnapshot() {
      const snapshot = await source.openSnapshot();
      return { ...snapshot, pages: told(snapshot.pages) };
    },
  };
}
