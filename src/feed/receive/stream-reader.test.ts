import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EPOCH, header, revocations, secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import type { Bus, StreamMessage } from '../bus/bus.ts';
import { clearOf, packRows, writeBatch } from '../message/batch.ts';
import { feedKeyRing } from '../message/keys.ts';
import { writeMessage } from '../message/message.ts';
import { createStreamReader } from './repair.ts';

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
function readerOver(reads: Pick<Bus, 'readFrom' | 'readLast'>) {
  const bus = createMemoryBroker().connect('node');
  return createStreamReader({ bus: { ...bus, ...reads }, verifier, keys });
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
