import assert from 'node:assert/strict';
import { askChanges, presentEnd, seqOf, told } from '../../../test/support/control/changes/asking.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import { assertFailure, created, type Json, openWorld } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { pruneLog } from '../../store/log/change-log.ts';
import { renewEpoch } from '../../store/service-facts.ts';
import type { Store } from '../../store/store.ts';
import { sweepExpired } from '../records/expiry.ts';

apiScenarios('changes, pages', {
  'exactly what was written later is told, in commit order, with the tag of each write and never a payload':
    async (store) => {
      const world = await openWorld(store);
      const [owner, other] = [await world.customer(), await world.customer()];
      const since = await presentEnd(owner);
      const { name } = await owner.namespace();
      const foreign = await other.namespace();
      const key = `a.r.${name}.v1`;
      const posted = await owner.post('/records', { record: { key, data: 'TUFSS0VS' } });
      await other.record(`b.r.${foreign.name}.v1`);
      const { id } = created(posted);
      world.advance(5);
      const patched = await owner.patch(`/records/${id}`, { record: { data: 'TUFSS0VS' } });
      // In the same millisecond: its entity tag is not of the time of the change.
      const again = await owner.patch(`/records/${id}`, { record: { data: 'TUFSS0VS' } });
      await owner.del(`/records/${id}`);
      const page = await askChanges(owner, `?since=${since}`);
      assert.deepEqual(told(page.changes), [
        ['namespace.upserted', name],
        ['record.upserted', key, posted.headers.etag],
        ['record.upserted', key, patched.headers.etag],
        ['record.upserted', key, again.headers.etag],
        ['record.deleted', key],
      ]);
      assert.equal(JSON.stringify(page).includes('TUFSS0VS'), false);
      assert.deepEqual(told((await askChanges(owner, `?since=${seqOf(posted)}`)).changes), [
        ['record.upserted', key, patched.headers.etag],
        ['record.upserted', key, again.headers.etag],
        ['record.deleted', key],
      ]);
      // The cursor of each change leads to the rest.
      for (const [i, { cursor }] of page.changes.entries()) {
        assert.deepEqual(
          told((await askChanges(owner, `?since=${cursor}`)).changes),
          told(page.changes.slice(i + 1)),
        );
      }
      assert.deepEqual((await askChanges(owner, `?since=${page.next}`)).changes, []);
      await world.close();
    },

  'pages join without gap and repetition, also within a bulk write': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    let since = await presentEnd(owner);
    const keys = Array.from({ length: 23 }, (_, i) => `k${i}.r.${name}.v1`);
    const bulk = await owner.post('/records/bulk', { records: keys.map((key) => ({ key, data: '' })) });
    assert.equal(bulk.status, 200, bulk.text);
    const seen: string[] = [];
    for (let more = true; more; ) {
      const page = await askChanges(owner, `?since=${since}&limit=5`);
      assert.ok(page.changes.length <= 5);
      seen.push(...page.changes.map((change: Json) => change.key));
      ({ next: since, has_more: more } = page);
    }
    assert.deepEqual(seen, keys);
    await world.close();
  },

  'an expiry is told as one; records that went with their namespace only when asked for': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { id, name } = await owner.namespace();
    await owner.record(`gone.r.${name}.v1`, { expires_in: 1 });
    await owner.record(`left.r.${name}.v1`);
    const since = await presentEnd(owner);
    world.advance(1_001);
    await sweepExpired(store, world.now(), 500);
    await owner.del(`/namespaces/${id}`);
    await runLoops(store, () => world.now());
    const rows = (query: string): Promise<unknown[]> =>
      askChanges(owner, `?since=${since}${query}`).then(({ changes }) => told(changes));
    const ends = [
      ['namespace.closing', name],
      ['namespace.deleted', name],
    ];
    const expired = ['record.expired', `gone.r.${name}.v1`];
    assert.deepEqual(await rows(''), [expired, ...ends]);
    const [closing, deleted] = ends;
    assert.deepEqual(await rows('&cascade=true'), [
      expired,
      closing,
      ['record.deleted', `left.r.${name}.v1`],
      deleted,
    ]);
    await world.close();
  },

  'a key sees its namespaces alone, and a name that others took later tells nothing of them': async (
    store,
  ) => {
    const world = await openWorld(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    const since = await presentEnd(owner);
    const [one, two] = [await owner.namespace(), await owner.namespace()];
    const key = await owner.key({ namespaces: [one.name] });
    const writer = await owner.key({ operations: ['write'] });
    await owner.record(`a.r.${one.name}.v1`);
    await owner.record(`a.r.${two.name}.v1`);
    assert.deepEqual(
      told((await askChanges(key, `?since=${since}`)).changes).map(([event, name]: Json) => [event, name]),
      [
        ['namespace.upserted', one.name],
        ['record.upserted', `a.r.${one.name}.v1`],
      ],
    );
    assert.deepEqual((await askChanges(key, `?since=${since}&namespace=${two.name}`)).changes, []);
    assert.equal(
      (await askChanges(owner, `?since=${since}&namespace=${two.name.toUpperCase()}`)).changes.length,
      2,
    );
    assertFailure(await writer.get('/changes'), 403, 'authorization_error', 'API key lacks the read scope');
    await owner.del(`/namespaces/${two.id}`);
    await runLoops(store, () => world.now());
    const after = await presentEnd(owner);
    await other.namespace(two.name);
    await other.record(`secret.r.${two.name}.v1`);
    assert.deepEqual((await askChanges(owner, `?since=${after}&namespace=${two.name}`)).changes, []);
    assert.deepEqual((await askChanges(owner, `?since=${after}`)).changes, []);
    await world.close();
  },

  'what is no place of this account in this log is refused': async (store) => {
    const world = await openWorld(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    await owner.namespace();
    const since = await presentEnd(owner);
    const refuse = async (query: string, status: number, message: string): Promise<void> =>
      assertFailure(
        await owner.get(`/changes${query}`),
        status,
        status === 410 ? 'not_found' : 'validation_error',
        message,
      );
    for (const text of ['x', '0', await presentEnd(other), `${since}A`, '%20', 'A'.repeat(600)]) {
      await refuse(`?since=${text}`, 400, 'since is not a cursor of this account');
    }
    for (const wait of ['-1', '56', '1.5', 'x', '']) {
      await refuse(`?wait=${wait}`, 400, 'wait is not a number from 0 to 55');
    }
    for (const limit of ['0', '501', 'x'])
      await refuse(`?limit=${limit}`, 400, 'limit is not a number from 1 to 500');
    await refuse('?cascade=1', 400, 'cascade is not true or false');
    await refuse('?namespace=a..b', 400, 'namespace is not a namespace name');
    await refuse('?page=2', 400, 'page is not a known parameter');
    await refuse('?limit=1&limit=2', 400, 'limit is given more than once');
    const position = world.deps.positions.read(owner.id, since);
    const past = world.deps.positions.text(owner.id, { ...position!, seq: position!.seq + 100_000 });
    await refuse(`?since=${past}`, 410, 'since is of another store');
    await world.close();
  },

  'a place that the log has no more, or that is of a store before a restore, is 410': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const start = await presentEnd(owner);
    await owner.namespace();
    await owner.namespace();
    await runLoops(store, () => world.now());
    const end = await presentEnd(owner);
    await store.write((tx) => pruneLog(tx, Number.MAX_SAFE_INTEGER, 1_000_000));
    assertFailure(
      await owner.get(`/changes?since=${start}`),
      410,
      'not_found',
      'since is older than the feed keeps',
    );
    assert.deepEqual((await askChanges(owner, `?since=${end}`)).changes, []);
    await store.write((tx) => renewEpoch(tx, Date.now()));
    assertFailure(await owner.get(`/changes?since=${end}`), 410, 'not_found', 'since is of another store');
    assert.deepEqual((await askChanges(owner, `?since=${await presentEnd(owner)}`)).changes, []);
    await world.close();
  },

  'what is pruned while a page is read is 410, and not left out': async (store) => {
    let isPruning = false;
    const wrap = (real: Store): Store => ({
      ...real,
      read: {
        ...real.read,
        async execute(sql, values) {
          if (isPruning && sql.includes('feed_blocks')) {
            await real.write((tx) => pruneLog(tx, Number.MAX_SAFE_INTEGER, 1_000_000));
          }
          return real.read.execute(sql, values);
        },
      },
    });
    const world = await openWorld(store, { wrap });
    const owner = await world.customer();
    const since = await presentEnd(owner);
    await owner.namespace();
    await runLoops(store, () => world.now());
    assert.equal((await askChanges(owner, `?since=${since}`)).changes.length, 1);
    isPruning = true;
    assertFailure(
      await owner.get(`/changes?since=${since}`),
      410,
      'not_found',
      'since is older than the feed keeps',
    );
    await world.close();
  },

  'a request that waits is answered at the first change that it is told of': async (store) => {
    const world = await openWorld(store);
    const [owner, other] = [await world.customer(), await world.customer()];
    const [one, two] = [await owner.namespace(), await owner.namespace()];
    const since = await presentEnd(owner);
    let isAnswered = false;
    const waiting = askChanges(owner, `?since=${since}&wait=55&namespace=${one.name}`).finally(() => {
      isAnswered = true;
    });
    await owner.record(`a.r.${two.name}.v1`);
    await other.namespace();
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isAnswered, false);
    const posted = await owner.post('/records', { record: { key: `a.r.${one.name}.v1`, data: '' } });
    const { changes } = await waiting;
    assert.deepEqual(told(changes), [['record.upserted', `a.r.${one.name}.v1`, posted.headers.etag]]);
    // It waits no longer than it was asked to.
    const empty = await askChanges(owner, `?since=${seqOf(posted)}&wait=1`);
    assert.deepEqual([empty.changes, empty.has_more], [[], false]);
    await world.close();
  },

  'of a person ten requests wait and another is refused; the end of the server answers them empty': async (
    store,
  ) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    await owner.namespace();
    const askAll = async () => {
      const query = `/changes?since=${await presentEnd(owner)}&wait=55`;
      return Array.from({ length: LIMITS.changeWaitsPerCustomer + 1 }, () => owner.get(query));
    };
    const before = await askAll();
    await Promise.race(before);
    await owner.namespace();
    assert.equal(
      (await Promise.all(before)).filter(({ status }) => status === 200).length,
      LIMITS.changeWaitsPerCustomer,
    );
    // Whose wait is over leaves a place.
    const asked = await askAll();
    const refused = await Promise.race(asked);
    assertFailure(refused, 429, 'rate_limit_exceeded', 'Too many requests wait for changes');
    assert.equal(refused.headers['retry-after'], '10');
    const closed = world.close();
    const answered = (await Promise.all(asked)).filter((answer) => answer !== refused);
    assert.equal(answered.length, LIMITS.changeWaitsPerCustomer);
    assert.deepEqual(
      answered.map(({ status, json }) => [status, json.changes]),
      answered.map(() => [200, []]),
    );
    await closed;
  },

  'a credential that ends while its request waits is refused': async (store) => {
    const world = await openWorld(store);
    const owner = await world.customer();
    const { name } = await owner.namespace();
    const key = await owner.key({});
    const since = await presentEnd(key);
    const waiting = key.get(`/changes?since=${since}&wait=55`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await owner.del(`/api_keys/${key.id}`);
    await owner.record(`a.r.${name}.v1`);
    assert.equal((await waiting).status, 401);
    await world.close();
  },
});
