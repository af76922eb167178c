import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { limiterOf } from '../../../test/support/http/server-parts.ts';
import {
  type Answer,
  assertFailure,
  type Caller,
  created,
  type Json,
  openWorld,
} from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Store } from '../../store/store.ts';
import type { NodeProgress } from './propagation.ts';

async function eventually(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await sleep(5);
}

const seqOf = ({ headers }: Answer): string => String(headers['x-service-seq']);
const FOREIGN = 'seq is not a value of X-Service-Seq of this account';

async function ask(caller: Caller, seq: string, wait?: number): Promise<Json> {
  const more = wait === undefined ? '' : `&wait=${wait}`;
  const { status, json, text } = await caller.get(`/propagation?seq=${seq}${more}`);
  assert.equal(status, 200, text);
  return json;
}

/** Nodes whose progress the test sets. */
async function worldWithNodes(store: Store) {
  const { epoch, head } = await store.changes.bounds();
  const node = (name: string, more: Partial<NodeProgress> = {}): NodeProgress => ({
    name,
    epoch,
    seq: head,
    isLate: false,
    appliedAt: () => null,
    ...more,
  });
  let nodes: readonly NodeProgress[] = [];
  const listeners = new Set<() => void>();
  const world = await openWorld(store, {
    nodes: {
      list: () => nodes,
      onMoved(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  });
  return {
    world,
    node,
    head: async (): Promise<number> => (await store.changes.bounds()).head,
    set: (next: readonly NodeProgress[]) => {
      nodes = next;
      for (const listener of listeners) listener();
    },
    /** As `set`; nobody is told. */
    setQuietly: (next: readonly NodeProgress[]) => {
      nodes = next;
    },
    listening: () => listeners.size,
  };
}

apiScenarios('propagation', {
  'every write that DNS serves answers its place in the feed; reads, and writes that change nothing, do not':
    async (store) => {
      const world = await openWorld(store);
      const owner = await world.customer();
      const name = `p-${Date.now().toString(36)}`;
      const namespace = await owner.post('/namespaces', { namespace: { name } });
      const record = await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } });
      const { id } = created(record);
      const tokens = `/namespaces/${namespace.json.id}/query_tokens`;
      const token = await owner.post(tokens, { name: 'reader' });
      const answers = [
        namespace,
        record,
        token,
        await owner.patch(`/records/${id}`, { record: { data: 'aGk=' } }),
        await owner.post('/records/bulk', { records: [{ key: `b.${name}.v1`, data: '' }] }),
        await owner.del(`/records/${id}`),
        await owner.del(`${tokens}/${token.json.id}`),
        await owner.del(`/namespaces/${namespace.json.id}`),
      ];
      for (const answer of answers) {
        assert.ok(answer.status < 300, answer.text);
        assert.match(seqOf(answer), /^[A-Za-z0-9_-]{40,128}$/);
      }
      for (const answer of [
        await owner.get('/namespaces'),
        await owner.del(`/records/${id}`),
        await owner.post('/api_keys', { api_key: { name: 'key' } }),
      ])
        assert.equal(answer.headers['x-service-seq'], undefined);
      await world.close();
    },

  'a repeated answer has none: it wrote nothing': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const headers = { 'idempotency-key': 'once' };
    const body = { record: { key: `a.${name}.v1`, data: '' } };
    const [first, again] = [
      await owner.send('POST', '/records', body, headers),
      await owner.send('POST', '/records', body, headers),
    ];
    assert.equal(again.json.id, first.json.id);
    assert.deepEqual(
      [typeof first.headers['x-service-seq'], again.headers['x-service-seq']],
      ['string', undefined],
    );
    await world.close();
  },

  'a node has a write once its view has the last change of it, in the same database': async (store) => {
    const { world, node, head, set } = await worldWithNodes(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const before = await head();
    const records = [1, 2, 3].map((n) => ({ key: `k${n}.${name}.v1`, data: '' }));
    const at = world.now();
    const seq = seqOf(await owner.post('/records/bulk', { records }));
    assert.deepEqual(await ask(owner, seq), { applied: false, nodes: [] });
    set([
      node('one', { seq: before }),
      node('two', { seq: before + 2 }),
      node('none', { seq: null, epoch: null }),
    ]);
    const early = await ask(owner, seq);
    assert.deepEqual(
      [early.applied, early.nodes.map(({ applied }: Json) => applied)],
      [false, [false, false, false]],
    );
    const last = await head();
    set([
      node('one', { seq: last, appliedAt: (asked) => (asked === last ? at + 31 : null) }),
      node('two', { seq: last + 5 }),
      node('other', { seq: last + 5, epoch: 'another', isLate: true }),
    ]);
    assert.deepEqual(await ask(owner, seq), {
      applied: true,
      nodes: [
        { name: 'one', applied: true, ms: 31, late: false },
        { name: 'two', applied: true, ms: null, late: false },
        { name: 'other', applied: false, ms: null, late: true },
      ],
    });
    await world.close();
  },

  'only its customer can use it, by session or key, and it tells no number': async (store) => {
    const { world, node, set } = await worldWithNodes(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    const { name } = await owner.namespace();
    const made = await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } });
    const seq = seqOf(made);
    set([node('one')]);
    const key = await owner.key({ operations: ['read'], namespaces: [name] });
    assert.equal((await ask(key, seq)).nodes.length, 1);
    for (const [caller, text] of [
      [other, seq],
      [owner, `${seq}A`],
      [owner, seq.slice(2)],
      [owner, '1'],
      [owner, ''],
      [owner, 'a'.repeat(10_000)],
    ] as const)
      assertFailure(await caller.get(`/propagation?seq=${text}`), 400, 'validation_error', FOREIGN);
    assertFailure(await owner.get('/propagation'), 400, 'validation_error', 'seq is required');
    const unknown = await owner.get(`/propagation?seq=${seq}&node=one`);
    assertFailure(unknown, 400, 'validation_error', 'node is not a known parameter');
    assertFailure(await world.caller(null).get(`/propagation?seq=${seq}`), 401, 'authentication_error');
    const writer = await owner.key({ operations: ['write'] });
    assertFailure(await writer.get(`/propagation?seq=${seq}`), 403, 'authorization_error');
    // The same change gives another text each time, so that texts cannot be counted or compared.
    const again = seqOf(await owner.patch(`/records/${made.json.id}`, { record: { data: 'aGk=' } }));
    assert.notEqual(again.slice(0, 12), seq.slice(0, 12));
    await world.close();
  },

  'a request waits until every node that is not late has the write': async (store) => {
    const { world, node, head, set, setQuietly, listening } = await worldWithNodes(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const before = await head();
    set([node('one', { seq: before }), node('two', { seq: before })]);
    const seq = seqOf(await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } }));
    const last = await head();
    let isAnswered = false;
    const waiting = ask(owner, seq, 30).finally(() => {
      isAnswered = true;
    });
    await eventually(() => listening() === 1);
    set([node('one', { seq: last }), node('two', { seq: before })]);
    await sleep(50);
    assert.equal(isAnswered, false);
    set([node('one', { seq: last }), node('two', { seq: last })]);
    assert.deepEqual((await waiting).applied, true);
    assert.equal(listening(), 0);
    // Another one, until the node that lacks it is late: nobody tells that.
    const next = seqOf(await owner.post('/records', { record: { key: `b.${name}.v1`, data: '' } }));
    const present = await head();
    set([node('one', { seq: present }), node('two', { seq: last })]);
    const again = ask(owner, next, 30);
    await eventually(() => listening() === 1);
    setQuietly([node('one', { seq: present }), node('two', { seq: last, isLate: true })]);
    assert.deepEqual(
      (await again).nodes.map(({ applied, late }: Json) => [applied, late]),
      [
        [true, false],
        [false, true],
      ],
    );
    await world.close();
  },

  'at the end of the time it tells which node lacks the write; a node without news does not end it': async (
    store,
  ) => {
    const { world, node, head, set } = await worldWithNodes(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    set([node('one', { seq: await head() })]);
    const seq = seqOf(await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } }));
    const answer = await ask(owner, seq, 1);
    assert.deepEqual(answer, {
      applied: false,
      nodes: [{ name: 'one', applied: false, ms: null, late: false }],
    });
    await world.close();
  },

  'cursors of the feed of changes are places too': async (store) => {
    const { world, node, head, set } = await worldWithNodes(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const since = (await owner.get('/changes')).json.next;
    await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } });
    const page = (await owner.get(`/changes?since=${since}`)).json;
    const last = await head();
    set([node('one', { seq: last - 1 })]);
    assert.equal((await ask(owner, since)).applied, true);
    for (const seq of [page.changes[0].cursor, page.next]) {
      assert.equal((await ask(owner, seq)).applied, false);
    }
    set([node('one', { seq: last })]);
    for (const seq of [page.changes[0].cursor, page.next]) {
      assert.equal((await ask(owner, seq, 5)).applied, true);
    }
    await world.close();
  },

  'the wait has bounds; requests that wait for nodes count with those that wait for changes': async (
    store,
  ) => {
    const { world, node, head, set } = await worldWithNodes(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    set([node('one', { seq: await head() })]);
    const seq = seqOf(await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } }));
    const last = await head();
    const max = LIMITS.propagationWaitS;
    for (const wait of [`${max + 1}`, '-1', '1.5', '', 'x', '030']) {
      const answer = await owner.get(`/propagation?seq=${seq}&wait=${wait}`);
      assertFailure(answer, 400, 'validation_error', `wait is not a number from 0 to ${max}`);
    }
    const { next } = (await owner.get('/changes')).json;
    const waiting = [owner.get(`/changes?since=${next}&wait=30`)];
    for (let i = 0; i < LIMITS.changeWaitsPerCustomer; i++) {
      waiting.push(owner.get(`/propagation?seq=${seq}&wait=${max}`));
    }
    const refused = await Promise.race(waiting);
    assertFailure(refused, 429, 'rate_limit_exceeded', 'Too many requests wait for changes');
    assert.equal(refused.headers['retry-after'], '10');
    assert.equal((await ask(owner, seq)).applied, false, 'who does not wait needs no place');
    set([node('one', { seq: last })]);
    assert.equal((await ask(owner, seq, max)).applied, true, 'nor who has not to wait');
    const { id } = created(await owner.post('/records', { record: { key: `b.${name}.v1`, data: '' } }));
    assert.ok(id);
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    assert.deepEqual(
      statuses.filter((status) => status !== 200),
      [429],
    );
    await world.close();
  },

  'a wait ends with its credential refused, and with the server': async (store) => {
    const { world, node, head, set, listening } = await worldWithNodes(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    set([node('one', { seq: await head() })]);
    const seq = seqOf(await owner.post('/records', { record: { key: `a.${name}.v1`, data: '' } }));
    const key = await owner.key({ operations: ['read'], namespaces: [name] });
    const waiting = key.get(`/propagation?seq=${seq}&wait=30`);
    await eventually(() => listening() === 1);
    await owner.del(`/api_keys/${key.id}`);
    set([node('one', { seq: await head() })]);
    assertFailure(await waiting, 401, 'authentication_error');
    set([node('one', { seq: 0 })]);
    const last = ask(owner, seq, 30);
    await eventually(() => listening() === 1);
    const closing = world.close();
    assert.equal((await last).applied, false);
    await closing;
  },

  'usage tells how much of the write budget is used, and when it is free again': async (store) => {
    const world = await openWorld(store, { limiter: limiterOf });
    const owner = await world.customer();
    const free = { used: 0, resets_in: 0 };
    const { writesPerMinute, writesPerHour } = LIMITS;
    const writes = async (): Promise<Json> => (await owner.get('/usage')).json.writes;
    assert.deepEqual(await writes(), {
      minute: { ...free, limit: writesPerMinute },
      hour: { ...free, limit: writesPerHour },
    });
    for (let i = 0; i < 3; i++) await owner.del('/records/x');
    world.advance(20_500);
    assert.deepEqual(await writes(), {
      minute: { used: 3, limit: writesPerMinute, resets_in: 40 },
      hour: { used: 3, limit: writesPerHour, resets_in: 3580 },
    });
    world.advance(39_500);
    assert.deepEqual((await writes()).minute, { ...free, limit: writesPerMinute });
    assert.equal((await writes()).hour.used, 3);
    await world.close();
  },
});
