import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import { loggedLabel, type QueryLogRow } from '../../feed/ports/query-log.ts';
import { createRowOutbox } from './outboxes.ts';

const REFUSED: QueryLogRow = {
  at: Date.UTC(2026, 0, 1),
  namespaceId: '018f0000-0000-7000-8000-000000000001',
  resource: null,
  version: null,
  operation: 'get',
  qtype: 16,
  status: 'refused',
  rcode: 5,
  transport: 'udp',
  durationMs: 0,
};
const HIT: QueryLogRow = {
  ...REFUSED,
  resource: loggedLabel('temp'),
  version: loggedLabel('v1'),
  status: 'hit',
  rcode: 0,
};

const BUSY = '018f0000-0000-7000-8000-000000000002';
const QUIET = '018f0000-0000-7000-8000-000000000003';

function world() {
  const lost = { rows: 0 };
  const outbox = createRowOutbox({ node: 'n', boot: 'b', onDropped: (rows) => (lost.rows += rows) });
  const take = (row: QueryLogRow, count: number): void => {
    outbox.take({ totals: [], rows: () => new Array<QueryLogRow>(count).fill(row) });
  };
  /** Sends everything: the rows, and how many were dropped of each namespace. */
  const sendAll = () => {
    const [sent, dropped]: [QueryLogRow[], Map<string, number>] = [[], new Map()];
    for (let batch = outbox.next(); batch !== null; batch = outbox.next()) {
      assert.equal(outbox.next(), batch, 'the same until it is settled');
      sent.push(...batch.rows);
      for (const { namespaceId, rows } of batch.dropped) {
        dropped.set(namespaceId, rows + (dropped.get(namespaceId) ?? 0));
      }
      outbox.settle();
    }
    return { sent, dropped };
  };
  return { lost, outbox, take, sendAll };
}

const WAITING = LIMITS.queryLogRowsWaiting;

test('one namespace fills half of the places, and there always is room for another', () => {
  const { lost, take, sendAll } = world();
  take({ ...HIT, namespaceId: BUSY }, WAITING);
  assert.equal(lost.rows, WAITING / 2);
  take(HIT, WAITING);
  take({ ...HIT, namespaceId: QUIET }, 100);
  const { sent, dropped } = sendAll();
  const own = Map.groupBy(sent, ({ namespaceId }) => namespaceId);
  assert.equal(own.get(BUSY)!.length, WAITING / 2);
  assert.equal(own.get(HIT.namespaceId)!.length, WAITING / 4);
  assert.equal(own.get(QUIET)!.length, 100);
  assert.deepEqual(
    [...dropped],
    [
      [BUSY, WAITING / 2],
      [HIT.namespaceId, (WAITING * 3) / 4],
    ],
  );
  take({ ...HIT, namespaceId: BUSY }, WAITING / 2);
  assert.equal(sendAll().sent.length, WAITING / 2, 'what was sent takes no room');
});

test('refused queries of many namespaces fill at most half of the places', () => {
  const { take, sendAll } = world();
  for (let i = 0; i < 40; i++) take({ ...REFUSED, namespaceId: `n${i}` }, WAITING / 40);
  take(HIT, WAITING / 8);
  const { sent } = sendAll();
  assert.equal(sent.filter(({ status }) => status === 'refused').length, WAITING / 2);
  assert.equal(sent.filter(({ status }) => status === 'hit').length, WAITING / 8);
});

test('what workers dropped is told by namespace, in batches of bounded length', () => {
  const { lost, outbox, sendAll } = world();
  const count = LIMITS.queryLogBatchRows + 1;
  const totals = Array.from({ length: count }, (_, i) => ({ namespaceId: `n${i}`, answers: 0, dropped: 2 }));
  outbox.take({ totals: [...totals, { namespaceId: 'none', answers: 1, dropped: 0 }], rows: () => [] });
  const first = outbox.next()!;
  assert.equal(first.dropped.length, LIMITS.queryLogBatchRows);
  const { dropped } = sendAll();
  assert.equal(dropped.size, count);
  assert.ok([...dropped.values()].every((rows) => rows === 2));
  assert.equal(lost.rows, 2 * count);
  assert.equal(outbox.next(), null);
});
