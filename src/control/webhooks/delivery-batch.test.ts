import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIMITS } from '../../base/limits.ts';
import type { Change } from '../../protocol/change.ts';
import { WEBHOOK_EVENTS } from '../../protocol/webhooks.ts';
import type { TargetRow } from '../../store/webhooks/fan-out.ts';
import { DeliveryBatch, FAN_OUT_LIMITS, type FanOutLimits, type Share } from './delivery-batch.ts';

const OWNER = 'owner';

const hook = (id: string, more: Partial<TargetRow> = {}): TargetRow => ({
  id,
  customer_id: OWNER,
  tier: 'pro',
  events: JSON.stringify(Object.keys(WEBHOOK_EVENTS)),
  namespaces: '[]',
  starts_after: 0,
  attempt_minutes: '[]',
  ...more,
});

/** An upsert whose body has about as many bytes as `data` has letters. */
const upsert = (seq: number, letters = 4): Change => ({
  seq,
  at: 5,
  owner: OWNER,
  cause: 'direct',
  type: 'record.upserted',
  key: 'a.doc.acme.v1',
  namespace: 'acme',
  resource: 'doc',
  version: 'v1',
  data: 'A'.repeat(letters),
  contentType: 'text/plain',
  ttlSeconds: 1,
  expiresAt: null,
});

interface Setup {
  readonly hooks?: readonly TargetRow[];
  readonly limits?: Partial<FanOutLimits>;
  readonly waiting?: Readonly<Record<string, number>>;
  readonly capacity?: number;
  readonly share?: Share;
}

function batchOf({ hooks = [hook('h')], limits = {}, waiting = {}, capacity = 5, share }: Setup): {
  batch: DeliveryBatch;
  asked: string[];
} {
  const asked: string[] = [];
  let ids = 0;
  const batch = new DeliveryBatch({
    at: 100,
    dueAt: 107,
    newId: () => `d${++ids}`,
    limits: { ...FAN_OUT_LIMITS, ...limits },
    share: share ?? null,
    targets: hooks,
    waiting: new Map(Object.entries(waiting)),
    numbers: new Map([[OWNER, 10]]),
    droppedCapacity: async (id) => {
      asked.push(id);
      return capacity;
    },
  });
  return { batch, asked };
}

/** Adds changes until the batch is full. @returns how many */
async function takeAll(batch: DeliveryBatch, changes: readonly Change[]): Promise<number> {
  let taken = 0;
  for (const change of changes) {
    if (!(await batch.add(change))) break;
    taken++;
  }
  return taken;
}

const upserts = (count: number, letters?: number): Change[] =>
  Array.from({ length: count }, (_, index) => upsert(index + 1, letters));

describe('a batch', () => {
  it('passes over what is more than the share of a customer, from the first such change on', async () => {
    for (const share of [
      { rows: 5, bytes: 1e9 },
      { rows: 99, bytes: 1_000 },
    ]) {
      const { batch } = batchOf({ hooks: [hook('h1'), hook('h2')], share });
      assert.equal(await takeAll(batch, upserts(9)), 9);
      assert.equal(batch.counts.events, 2);
      assert.equal(batch.rows.length, 4);
      assert.deepEqual([...batch.behind], [[OWNER, 2]]);
    }
  });

  it('takes one change of a customer, however large', async () => {
    const { batch } = batchOf({ hooks: [hook('h1'), hook('h2')], share: { rows: 1, bytes: 1 } });
    await takeAll(batch, upserts(2));
    assert.deepEqual([batch.rows.length, ...batch.behind], [2, [OWNER, 1]]);
  });

  it('has one row for each webhook, all with the same bytes', async () => {
    const { batch } = batchOf({ hooks: [hook('h1'), hook('h2')] });
    assert.equal(await takeAll(batch, [upsert(3), upsert(4)]), 2);
    const [first, second, third] = batch.rows;
    assert.deepEqual(
      batch.rows.map(({ id, webhook_id, seq }) => [id, webhook_id, seq]),
      [
        ['d1', 'h1', 11],
        ['d2', 'h2', 11],
        ['d3', 'h1', 12],
        ['d4', 'h2', 12],
      ],
    );
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    assert.equal(first.body, second.body);
    assert.notEqual(first.body, third.body);
    const { body, ...row } = first;
    assert.match(Buffer.from(body ?? []).toString(), /^\{"event":"record.upserted","seq":11,/);
    assert.deepEqual(row, {
      id: 'd1',
      webhook_id: 'h1',
      event: 'record.upserted',
      seq: 11,
      status: 'pending',
      response_code: null,
      error: null,
      attempts: 0,
      duration_ms: null,
      created_at: 100,
      last_attempt_at: null,
      next_attempt_at: 107,
    });
    assert.deepEqual([...batch.numbers], [[OWNER, 12]]);
    assert.deepEqual([...batch.due], ['h1', 'h2']);
    assert.deepEqual(batch.counts, { events: 2, waiting: 4, dropped: 0, unwritten: 0 });
  });

  /** Webhook, whether it gets the change with `seq` 3, and whether the event has a number. */
  const table: [string, TargetRow, Change, boolean, boolean][] = [
    ['another event', hook('h', { events: '["record.deleted"]' }), upsert(3), false, true],
    ['this event', hook('h', { events: '["record.upserted"]' }), upsert(3), true, true],
    ['another namespace', hook('h', { namespaces: '["other","acm"]' }), upsert(3), false, true],
    ['this namespace', hook('h', { namespaces: '["other","acme"]' }), upsert(3), true, true],
    ['an older change', hook('h', { starts_after: 3 }), upsert(3), false, true],
    ['a newer change', hook('h', { starts_after: 2 }), upsert(3), true, true],
    ['a tier without webhooks', hook('h', { tier: 'free' }), upsert(3), false, true],
    ['another customer', hook('h', { customer_id: 'other' }), upsert(3), false, false],
    ['expiry', hook('h'), { ...upsert(3), cause: 'expiry' }, false, false],
    ['without an owner', hook('h'), { ...upsert(3), owner: null }, false, false],
    [
      'a token',
      hook('h'),
      {
        seq: 3,
        at: 5,
        owner: OWNER,
        cause: 'direct',
        type: 'token.revoked',
        namespace: 'acme',
        digest: 'd',
      },
      false,
      false,
    ],
  ];
  for (const [what, target, change, isTold, isNumbered] of table) {
    it(`${what}: ${isTold ? 'sent' : 'not sent'}, ${isNumbered ? 'a number' : 'no number'}`, async () => {
      const { batch } = batchOf({ hooks: [target] });
      assert.equal(await batch.add(change), true);
      assert.equal(batch.rows.length, isTold ? 1 : 0);
      assert.equal(batch.counts.events, isNumbered ? 1 : 0);
    });
  }
});

describe('limits of a batch', () => {
  /** Bytes of a body around its payload. */
  const around = async (): Promise<number> => {
    const { batch } = batchOf({});
    await batch.add(upsert(1, 0));
    return batch.rows[0]?.body?.length ?? 0;
  };

  it('a body of as many bytes as allowed waits, one byte more is dropped', async () => {
    const letters = LIMITS.webhookBody - (await around());
    for (const [more, status, error] of [
      [0, 'pending', null],
      [1, 'dropped', 'payload_too_large'],
    ] as const) {
      const { batch } = batchOf({});
      assert.equal(await batch.add(upsert(1, letters + more)), true);
      const [row] = batch.rows;
      assert.equal(row?.status, status);
      assert.equal(row.error, error);
      assert.equal(row.body?.length, more === 0 ? LIMITS.webhookBody : undefined);
      assert.equal(row.next_attempt_at, more === 0 ? 107 : null);
      assert.equal(batch.due.size, more === 0 ? 1 : 0);
    }
  });

  it('as many wait as may, what was there included; further ones are dropped', async () => {
    const { batch } = batchOf({
      hooks: [hook('h1'), hook('h2')],
      waiting: { h1: LIMITS.webhookPending - 2 },
    });
    assert.equal(await takeAll(batch, upserts(4)), 4);
    const of = (id: string): (string | null)[] =>
      batch.rows.filter((row) => row.webhook_id === id).map((row) => row.error);
    assert.deepEqual(of('h1'), [null, null, 'rate_limited', 'rate_limited']);
    assert.deepEqual(of('h2'), [null, null, null, null]);
    assert.deepEqual(
      batch.rows
        .filter((row) => row.error !== null)
        .map((row) => [row.status, row.body, row.next_attempt_at]),
      [
        ['dropped', null, null],
        ['dropped', null, null],
      ],
    );
  });

  it('of those dropped as many are written as the history takes; it is asked once', async () => {
    const { batch, asked } = batchOf({ waiting: { h: LIMITS.webhookPending }, capacity: 3 });
    assert.equal(await takeAll(batch, upserts(10)), 10);
    assert.equal(batch.rows.length, 3);
    assert.deepEqual(batch.counts, { events: 10, waiting: 0, dropped: 3, unwritten: 7 });
    assert.deepEqual(asked, ['h']);
    assert.deepEqual([...batch.numbers], [[OWNER, 20]]);
  });

  it('what would be over the attempts of an hour is dropped at once', async () => {
    const minutes = (attempts: number): string => JSON.stringify([[0, attempts]]);
    const open = hook('open', { attempt_minutes: minutes(LIMITS.webhookAttemptsPerHour - 1) });
    const spent = hook('spent', { attempt_minutes: minutes(LIMITS.webhookAttemptsPerHour) });
    const { batch } = batchOf({ hooks: [open, spent] });
    assert.equal(await batch.add(upsert(1)), true);
    assert.deepEqual(
      batch.rows.map(({ webhook_id, status, error }) => [webhook_id, status, error]),
      [
        ['open', 'pending', null],
        ['spent', 'dropped', 'rate_limited'],
      ],
    );
  });

  it('it is full with so many rows, and never splits a change', async () => {
    const hooks = ['h1', 'h2', 'h3'].map((id) => hook(id));
    for (const [rows, taken] of [
      [2, 1],
      [3, 1],
      [5, 1],
      [6, 2],
      [8, 2],
      [9, 3],
    ] as const) {
      const { batch } = batchOf({ hooks, limits: { rows } });
      assert.equal(await takeAll(batch, upserts(5)), taken, `${rows} rows`);
      assert.equal(batch.rows.length, taken * 3);
      assert.deepEqual([...batch.numbers], [[OWNER, 10 + taken]]);
    }
  });

  it('it is full with so many bytes, counted for each row', async () => {
    const size = await around();
    const hooks = [hook('h1'), hook('h2')];
    for (const [bytes, taken] of [
      [1, 1],
      [size * 4 - 1, 1],
      [size * 4, 2],
    ] as const) {
      const { batch } = batchOf({ hooks, limits: { bytes } });
      assert.equal(await takeAll(batch, upserts(3, 0)), taken, `${bytes} bytes`);
    }
  });
});
