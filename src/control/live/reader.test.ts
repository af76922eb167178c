import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backgroundTimers } from '../../base/lifecycle/timers.ts';
import { type LiveSource, openLiveReader } from './reader.ts';

interface Row {
  readonly place: number;
  readonly customer: string;
}

/** A table whose notices are muted unless the test calls `wake`. */
function table() {
  const rows: Row[] = [];
  let wake = (): void => {};
  let reads = 0;
  let gate: Promise<void> | null = null;
  const source: LiveSource<Row> = {
    listen(listener) {
      wake = listener;
      return () => {};
    },
    last: async () => rows.at(-1)?.place ?? 0,
    async read({ customers, after, last }) {
      reads++;
      const found = rows.filter(
        ({ place, customer }) => place > after && place <= last && customers.has(customer),
      );
      await gate;
      return { rows: found, end: null };
    },
    customerOf: ({ customer }) => customer,
  };
  return {
    rows,
    source,
    wake: () => wake(),
    reads: () => reads,
    hold: (until: Promise<void> | null): void => {
      gate = until;
    },
  };
}

/** A follower that keeps what it is offered. */
function follower(customerId: string) {
  const begun = Promise.withResolvers<number>();
  const seen: number[] = [];
  let heard = Promise.withResolvers<void>();
  return {
    begun: begun.promise,
    seen,
    async until(count: number): Promise<void> {
      while (seen.length < count) {
        heard = Promise.withResolvers();
        await heard.promise;
      }
    },
    as: {
      customerId,
      begin: (from: number) => begun.resolve(from),
      offer(rows: readonly Row[]): void {
        seen.push(...rows.map(({ place }) => place));
        heard.resolve();
      },
    },
  };
}

const fail = (error: unknown): never => {
  throw error;
};

describe('the live reader', () => {
  it('finds rows also when every notice is lost, and offers each customer its own, once', async () => {
    const { rows, source } = table();
    const reader = openLiveReader(source, fail, backgroundTimers);
    const [one, other] = [follower('a'), follower('b')];
    rows.push({ place: 1, customer: 'a' });
    reader.follow(one.as);
    reader.follow(other.as);
    assert.deepEqual(await Promise.all([one.begun, other.begun]), [1, 1]);
    // Joining wakes the reader; what comes after that is found by polling alone.
    await new Promise((resolve) => setTimeout(resolve, 50));
    rows.push({ place: 2, customer: 'a' }, { place: 3, customer: 'b' }, { place: 4, customer: 'a' });
    await Promise.all([one.until(2), other.until(1)]);
    assert.deepEqual([one.seen, other.seen, reader.place()], [[2, 4], [3], 4]);
    await reader.close();
  });

  it('admits a follower that joins during a read after it, so that it misses nothing behind its beginning', async () => {
    const { rows, source, wake, reads, hold } = table();
    const reader = openLiveReader(source, fail, backgroundTimers);
    const [first, late] = [follower('a'), follower('b')];
    reader.follow(first.as);
    await first.begun;
    const held = Promise.withResolvers<void>();
    hold(held.promise);
    rows.push({ place: 1, customer: 'a' }, { place: 2, customer: 'b' });
    wake();
    while (reads() === 0) await new Promise(setImmediate);
    reader.follow(late.as);
    rows.push({ place: 3, customer: 'b' });
    hold(null);
    held.resolve();
    // Row 2 stands before the place where it begins: it reads that one itself.
    assert.equal(await late.begun, 2);
    await late.until(1);
    assert.deepEqual([first.seen, late.seen], [[1], [3]]);
    await reader.close();
  });

  it('reads nothing while nobody follows, and begins again at the end', async () => {
    const { rows, source, wake, reads } = table();
    const reader = openLiveReader(source, fail, backgroundTimers);
    const gone = follower('a');
    const leave = reader.follow(gone.as);
    await gone.begun;
    leave();
    rows.push({ place: 1, customer: 'a' });
    wake();
    while (reader.place() !== null) await new Promise(setImmediate);
    const back = follower('a');
    reader.follow(back.as);
    assert.equal(await back.begun, 1);
    assert.deepEqual([gone.seen, back.seen, reads()], [[], [], 0]);
    await reader.close();
  });

  it('goes on from the new end when a backup was restored under the process', async () => {
    const { rows, source, wake } = table();
    const reader = openLiveReader(source, fail, backgroundTimers);
    const only = follower('a');
    rows.push({ place: 10, customer: 'a' });
    reader.follow(only.as);
    assert.equal(await only.begun, 10);
    const lost = reader.reached(12);
    rows.splice(0, 1, { place: 4, customer: 'a' });
    wake();
    assert.equal(await lost, true, 'nothing waits for a place of before');
    while (reader.place() !== 4) await new Promise(setImmediate);
    rows.push({ place: 5, customer: 'a' });
    wake();
    await only.until(1);
    assert.deepEqual(only.seen, [5]);
    await reader.close();
  });

  it('says when a place is reached, and that it fails once', async () => {
    const { rows, source, wake } = table();
    let failures = 0;
    const told: unknown[] = [];
    const last = async (): Promise<number> => {
      if (failures++ < 2) throw new Error('away');
      return source.last();
    };
    const reader = openLiveReader({ ...source, last }, (error) => told.push(error), backgroundTimers);
    const one = follower('a');
    reader.follow(one.as);
    rows.push({ place: 1, customer: 'b' });
    assert.equal(await reader.reached(1), true);
    let isReached = false;
    const later = reader.reached(3).then(() => {
      isReached = true;
    });
    rows.push({ place: 2, customer: 'a' });
    wake();
    await one.until(1);
    assert.deepEqual([reader.place(), isReached], [2, false]);
    rows.push({ place: 3, customer: 'b' });
    wake();
    await later;
    assert.equal(told.length, 1);
    // A reader that has ended keeps nobody waiting.
    await Promise.all([reader.reached(9), reader.close()]);
  });
});
