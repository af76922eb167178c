import assert from 'node:assert/strict';
import {
  ALL_FLAGS,
  askFlags,
  base64,
  flagShop,
  oneFlag,
  plainFlag,
} from '../../../test/support/control/flags/asking.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { type Customer, type Json, openWorld } from '../../../test/support/http/world.ts';
import { LIMITS } from '../../base/limits.ts';
import { memoryLimiter } from '../../http/limiter.ts';
import { insertNamespace } from '../../store/namespaces.ts';
import type { Store } from '../../store/store.ts';
import { setPublicRead } from '../namespaces/rules.ts';

/** A store whose statements are counted, and whose database a test can take away. */
function watched() {
  const statements: string[] = [];
  let isAway = false;
  let heardAt = 0;
  const wrap = (real: Store): Store => ({
    ...real,
    // A credential is looked up again after a notice. PostgreSQL sends one as soon as its connection of notices stands, at any moment.
    onWork: () => () => {},
    read: {
      ...real.read,
      async execute(sql, values) {
        if (isAway) throw new Error('away');
        statements.push(sql);
        return real.read.execute(sql, values);
      },
    },
    changes: {
      ...real.changes,
      async bounds() {
        if (isAway) throw new Error('away');
        return real.changes.bounds();
      },
      heardAt: () => heardAt,
    },
  });
  return {
    wrap,
    /** Statements since the last call, without those of the reader of the log. */
    taken: () => statements.splice(0).filter((sql) => !/change_log/.test(sql)),
    away: (is: boolean, now: number): void => {
      isAway = is;
      heardAt = now;
    },
  };
}

async function writeFlags(owner: Customer, name: string, from: number, to: number, value: unknown) {
  for (let first = from; first < to; first += LIMITS.bulkItems) {
    const count = Math.min(LIMITS.bulkItems, to - first);
    const records = Array.from({ length: count }, (_, i) => ({
      key: `f${first + i}.flags.${name}.v1`,
      data: base64(plainFlag(value)),
    }));
    const { status, text } = await owner.post('/records/bulk', { records });
    assert.equal(status, 200, text);
  }
}

apiScenarios('flags in memory', {
  'an evaluation of what is known reads no SQL, goes on for an hour without the database, and no longer':
    async (store) => {
      const { wrap, taken, away } = watched();
      const world = await openWorld(store, { wrap });
      const { owner, name, token } = await flagShop(world, { a: plainFlag(1) });
      const key = await owner.key({ operations: ['read'] });
      const ask = async (credential: string, path = oneFlag('a')): Promise<[number, string]> => {
        const { status, text } = await askFlags(world, credential, `/flags/${name}${path}`);
        return [status, text];
      };
      const known = [await ask(token), await ask(key.token), await ask(token, ALL_FLAGS)];
      taken();
      assert.deepEqual([await ask(token), await ask(key.token), await ask(token, ALL_FLAGS)], known);
      assert.deepEqual(taken(), []);
      away(true, world.now());
      for (const ms of [0, LIMITS.flagsWithoutStoreMs]) {
        world.advance(ms);
        assert.deepEqual(await ask(token), known[0]);
      }
      assert.deepEqual(await ask(key.token), known[1]);
      const unknown = [500, JSON.stringify({ errorDetails: 'server error' })];
      assert.deepEqual(await ask(`svcq${'0'.repeat(52)}`), unknown);
      world.advance(1);
      assert.deepEqual([await ask(token), await ask(key.token)], [unknown, unknown]);
      away(false, world.now());
      assert.deepEqual([await ask(token), await ask(key.token)], known.slice(0, 2));
      await world.close();
    },

  'so many flags are answered together, and single ones of any number': async (store) => {
    const world = await openWorld(store);
    const { owner, name, token } = await flagShop(world);
    await writeFlags(owner, name, 0, LIMITS.flagsOfNamespace, 1);
    const whole = await askFlags(world, token, ALL_FLAGS);
    assert.deepEqual([whole.status, whole.json.flags.length], [200, LIMITS.flagsOfNamespace]);
    await owner.record(`more.flags.${name}.v1`, { data: base64(plainFlag(2)) });
    const refused = await askFlags(world, token, ALL_FLAGS);
    assert.deepEqual(
      [refused.status, Object.keys(refused.json), refused.headers.etag],
      [500, ['errorDetails'], undefined],
    );
    for (const [flag, value] of [
      ['more', 2],
      ['f0', 1],
    ] as const)
      assert.equal((await askFlags(world, token, oneFlag(flag))).json.value, value);
    const { json } = await owner.get(`/records?namespace=${name}&key=f0.flags.${name}.v1`);
    await owner.del(`/records/${json[0].id}`);
    assert.equal((await askFlags(world, token, ALL_FLAGS)).json.flags.length, LIMITS.flagsOfNamespace);
    await world.close();
  },

  'so many octets are answered together': async (store) => {
    const world = await openWorld(store);
    const { owner, name, token } = await flagShop(world);
    const long = 'x'.repeat(2_500);
    const each = Buffer.byteLength(`{"key":"f000","reason":"STATIC","variant":"v","value":"${long}"},`);
    const count = Math.floor(LIMITS.flagsAnswer / each);
    await writeFlags(owner, name, 100, 100 + count, long);
    const { status, text } = await askFlags(world, token, ALL_FLAGS);
    assert.equal(status, 200);
    assert.ok(Buffer.byteLength(text) <= LIMITS.flagsAnswer);
    await writeFlags(owner, name, 100 + count, 101 + count, long);
    assert.equal((await askFlags(world, token, ALL_FLAGS)).status, 500);
    await world.close();
  },

  'so many namespaces and octets are kept, the least recently used go': async (store) => {
    if (store.engine === 'postgres') return;
    const { wrap, taken } = watched();
    const world = await openWorld(store, { wrap });
    const owner = await world.customer('enterprise');
    const key = await owner.key({ operations: ['read'] });
    const names = Array.from(
      { length: LIMITS.flagNamespaces + 1 },
      (_, i) => `kept-${i}-${owner.id.slice(-6)}`,
    );
    const row = (name: string) => ({
      id: `${name}-id`,
      name,
      customer_id: owner.id,
      public_read: 0,
      suspended: 0,
      closing: 0,
      max_ttl: 60,
      history_id: null,
      history_versions: null,
      history_days: null,
      history_since: null,
      records_count: 0,
      created_at: world.now(),
      updated_at: world.now(),
    });
    await store.write(async (tx) => {
      for (const name of names) await insertNamespace(tx, row(name));
    });
    /** Whether the flags of the namespace had to be read. */
    const isRead = async (name: string): Promise<boolean> => {
      taken();
      const { status, text } = await askFlags(world, key.token, `/flags/${name}${oneFlag('f0')}`);
      assert.ok([200, 404].includes(status), text);
      return taken().some((sql) => sql.includes('from records'));
    };
    const [first = '', second = ''] = names;
    for (const name of names.slice(0, -1)) assert.equal(await isRead(name), true);
    assert.equal(await isRead(first), false);
    assert.equal(await isRead(names.at(-1)!), true);
    assert.deepEqual([await isRead(first), await isRead(second)], [false, true]);

    // Each flag is counted with 512 octets, and six for each octet of its document.
    const value = 'x'.repeat(2_500);
    const cost = 512 + 6 * JSON.stringify(plainFlag(value)).length;
    const of = LIMITS.flagsOfNamespace;
    const full = Math.floor(LIMITS.flagOctets / (cost * of));
    for (const name of names.slice(0, full + 1)) await writeFlags(owner, name, 0, of, value);
    for (const name of names.slice(0, full)) await isRead(name);
    assert.equal(await isRead(first), false);
    assert.equal(await isRead(names[full]!), true);
    assert.deepEqual([await isRead(first), await isRead(second)], [false, true]);
    await world.close();
  },

  'requests are limited by address and by namespace': async (store) => {
    const world = await openWorld(store, { limiter: (clock) => memoryLimiter(clock) });
    const { name, token } = await flagShop(world, { a: plainFlag(1) });
    const { limiter } = world.deps.flags;
    const ask = async (): Promise<[number, unknown, string]> => {
      const { status, headers, text } = await askFlags(world, token, oneFlag('a'));
      return [status, headers['retry-after'], text];
    };
    const refused = [429, '60', JSON.stringify({ errorDetails: 'too many requests' })];
    await limiter.take('flags', '127.0.0.1', LIMITS.flagsPerMinute - 1);
    assert.equal((await ask())[0], 200);
    assert.deepEqual(await ask(), refused);
    world.advance(60_000);
    await limiter.take('flagsOfNamespace', name, LIMITS.flagsPerMinuteOfNamespace - 1);
    assert.equal((await ask())[0], 200);
    assert.deepEqual(await ask(), refused);
    await world.close();
  },

  'a refusal is the same work for a private namespace that is absent, quiet or in use': async (store) => {
    const { wrap, taken } = watched();
    const world = await openWorld(store, { wrap });
    const [inUse, quiet, other] = [
      await flagShop(world, { a: plainFlag(1) }),
      await flagShop(world),
      await flagShop(world),
    ];
    const key = await other.owner.key({ operations: ['read'] });
    assert.equal((await askFlags(world, inUse.token, ALL_FLAGS)).status, 200);
    for (const [credential, status] of [
      [null, 401],
      [other.token, 401],
      [key.token, 403],
    ] as const) {
      // The credential is known from now on.
      await askFlags(world, credential, `/flags/${other.name}${ALL_FLAGS}`);
      const seen: [number, string, string[]][] = [];
      for (const name of ['absent', quiet.name, inUse.name]) {
        taken();
        const answer = await askFlags(world, credential, `/flags/${name}${ALL_FLAGS}`);
        seen.push([answer.status, answer.text, taken()]);
      }
      const [first] = seen;
      assert.deepEqual([first?.[0], first?.[2].length], [status, 1]);
      assert.deepEqual([seen[1], seen[2]], [first, first]);
    }
    await world.close();
  },

  'all flags at once count as many evaluations by their documents: not by requests alone': async (store) => {
    const world = await openWorld(store, { limiter: (clock) => memoryLimiter(clock) });
    const { name, token, owner } = await flagShop(world, { a: plainFlag(1) });
    const { limiter } = world.deps.flags;
    const [address, namespace] = [LIMITS.flagsPerMinute, LIMITS.flagsPerMinuteOfNamespace];
    const used = () =>
      Promise.all([limiter.used('flags', '127.0.0.1'), limiter.used('flagsOfNamespace', name)]).then((all) =>
        all.map((budget) => budget?.[0]?.used),
      );
    await askFlags(world, token, ALL_FLAGS);
    assert.deepEqual(await used(), [1, 1]);
    await writeFlags(owner, name, 0, 60, 'x'.repeat(2_500));
    world.advance(60_000);
    const { status } = await askFlags(world, token, ALL_FLAGS);
    // 60 flags of 15.7 KB.
    assert.deepEqual([status, await used()], [200, [3, 3]]);
    for (const [budget, key, limit] of [
      ['flags', '127.0.0.1', address],
      ['flagsOfNamespace', name, namespace],
    ] as const) {
      world.advance(60_000);
      await limiter.take(budget, key, limit - 2);
      assert.equal((await askFlags(world, token, ALL_FLAGS)).status, 429, budget);
      assert.equal((await askFlags(world, token, oneFlag('a'))).status, 200, budget);
    }
    await world.close();
  },

  'a request is one private read, of an open namespace none': async (store) => {
    const world = await openWorld(store);
    const { owner, name, token } = await flagShop(world, { a: plainFlag(1) });
    const open = await owner.namespace();
    await owner.record(`a.flags.${open.name}.v1`, { data: base64(plainFlag(1)) });
    await setPublicRead(world.deps, open.name, true);
    for (const path of [ALL_FLAGS, oneFlag('a'), oneFlag('nothing')]) await askFlags(world, token, path);
    await askFlags(world, null, `/flags/${open.name}${ALL_FLAGS}`);
    await askFlags(world, null, `/flags/${name}${ALL_FLAGS}`);
    // They are added when the server closes, if not before.
    await world.close();
    const after = await openWorld(store);
    const { json } = await after.caller(owner.token).get('/usage');
    const { total_authenticated_queries: total, by_namespace: by } = json.metered;
    assert.deepEqual([total, by.map((one: Json) => [one.name, one.count])], [2, [[name, 2]]]);
    await after.close();
  },
});
