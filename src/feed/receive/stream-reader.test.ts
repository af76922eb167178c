import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EPOCH, header, revocations, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import type { Bus, StreamMessage } from '../bus/bus.ts';
import { clearOf, packRows, writeBatch } from '../message/batch.ts';
import { feedKeyRing } from '../message/keys.ts';
import { writeMessage } from '../message/message.ts';
import { createReadAhead, createStreamReader } from './repair.ts';

const keys = () => feedKeyRing([secrets.key]);

function message(from: number, to: number): Uint8Array {
  return writeBatch(header(), packRows(revocations(from, to))[0]!, secrets);
}

/** As control answers it, to anybody. */
function pageOf(from: number, to: number): Uint8Array {
  const [rows] = packRows(revocations(from, to));
  const clear = clearOf({ epoch: EPOCH, head: to, oldest: 1 }, rows!);
  const fields = { kind: 'page', from: 'control', to: '*', at: 1_000, clear } as const;
  return writeMessage(fields, secrets, { key: secrets.key, packed: rows! });
}

/** A bus whose broker answers reads of the stream as it likes. */
function readerOver(
  reads: Pick<Bus, 'readFrom' | 'readLast'>,
  placeAfter: (epoch: string, seq: number) => number | null = () => null,
) {
  const bus = createMemoryBroker().connect('node');
  return createStreamReader({
    bus: { ...bus, ...reads },
    verifier,
    keys,
    ahead: createReadAhead(),
    placeAfter,
  });
}

describe('the reader of a stream that a hostile broker keeps', () => {
  it('refuses a page of a snapshot in the place of a batch: its rows have numbers, but are no changes', async () => {
    const page: StreamMessage = { seq: 1, data: pageOf(1, 20) };
    const reader = readerOver({ readFrom: async () => [page], readLast: async () => page });
    await assert.rejects(reader.after(EPOCH, 10, 100), { reason: 'format' });
    await assert.rejects(reader.ends(), { reason: 'format' });
  });

  it('ends when the broker gives old messages again and again, with numbers that do not ascend', async () => {
    const old: StreamMessage = { seq: 1, data: message(1, 2) };
    const last: StreamMessage = { seq: 1_000_000, data: message(2_000_000, 2_000_000) };
    let reads = 0;
    const reader = readerOver({
      async readFrom() {
        reads++;
        return [old];
      },
      readLast: async () => last,
    });
    assert.deepEqual(await reader.after(EPOCH, 10, 100), []);
    assert.ok(reads < 100, `${reads} reads`);
  });
});

describe('the reader of a distant stream', () => {
  /** A stream of batches of `size` changes, and the round trips that its reader waits for. */
  function stream(count: number, size: number) {
    const messages = Array.from({ length: count }, (_, i) => ({
      seq: i + 1,
      data: message(i * size + 1, (i + 1) * size),
    }));
    let trips = 0;
    let isUnderWay = false;
    async function trip(): Promise<void> {
      if (!isUnderWay) trips++;
      isUnderWay = true;
      await new Promise((resolve) => setImmediate(resolve));
      isUnderWay = false;
    }
    return {
      trips: () => trips,
      async readFrom(seq: number, limit: number) {
        await trip();
        return messages.filter((each) => each.seq >= seq).slice(0, limit);
      },
      async readLast() {
        await trip();
        return messages.at(-1)!;
      },
    };
  }

  async function readAll(reader: ReturnType<typeof readerOver>, from: number): Promise<number[]> {
    const read: number[] = [];
    for (;;) {
      const changes = await reader.after(EPOCH, read.at(-1) ?? from, 100);
      read.push(...changes.map(({ seq }) => seq));
      if (changes.length < 100) return read;
    }
  }

  it('finds a place among 400 messages in five round trips, and reads on in one for each 512 messages', async () => {
    const reads = stream(400, 3);
    assert.deepEqual(
      await readAll(readerOver(reads), 10),
      Array.from({ length: 1190 }, (_, i) => i + 11),
    );
    assert.ok(reads.trips() <= 8, `${reads.trips()} round trips`);
  });

  it('searches nothing after a batch whose place is known, and gives a batch in pieces', async () => {
    const reads = stream(5, 70);
    const reader = readerOver(reads, (_, seq) => (seq === 70 ? 2 : null));
    assert.deepEqual(
      await readAll(reader, 70),
      Array.from({ length: 280 }, (_, i) => i + 71),
    );
    assert.equal(reads.trips(), 2);
  });

  it('goes on from a place that the stream no longer has: it has begun again', async () => {
    const reads = stream(4, 50);
    const reader = readerOver(reads, () => 40);
    assert.deepEqual(await reader.after(EPOCH, 50, 1_000), []);
  });
});
