import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { earlierDocument } from '../../../test/support/dns/dnssec/earlier-format.ts';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { DecryptError, isCurrentFormat, keyFile, loadKeys } from '../../dns/dnssec/key-files.ts';
import { generateKey, generateKeySet, type KeySet, keySetData } from '../../dns/dnssec/key-set.ts';
import { advance, type Confirmation, ROLLOVER_TIMES } from '../../dns/dnssec/rollover.ts';
import { openStore } from '../../store/open.ts';
import { insertKeySet, readKeySets, replaceKeySet } from '../../store/server-keys.ts';
import type { Store } from '../../store/store.ts';
import { startAutomaticRollover } from './automatic-rollover.ts';
import { fileZoneKeys, type ZoneKeys } from './control-secrets.ts';
import { databaseZoneKeys, openZoneKeys } from './open.ts';

const ZONE = 'uqrp.net';
const KEY = Buffer.alloc(32, 1);
const clock = Date.now;
const tags = ({ keys }: KeySet): number[] => keys.map(({ keyTag }) => keyTag);

interface Place {
  /** Opens it as another process would. */
  open(): Promise<ZoneKeys>;
  close(): Promise<void>;
}

/** What every storage of signing keys must do. */
function zoneKeysSuite(name: string, create: () => Promise<Place>, skip: string | null = null): void {
  describe(`signing keys in ${name}`, { skip: skip ?? false }, () => {
    async function inPlace(scenario: (place: Place) => Promise<void>): Promise<void> {
      const place = await create();
      try {
        await scenario(place);
      } finally {
        await place.close();
      }
    }
    const addKey = (set: KeySet): { keys: KeySet } => ({
      keys: { ...set, keys: [...set.keys, generateKey('zsk', 'published', clock(), new Set(tags(set)))] },
    });

    it('are made once, also by processes that start together, and each zone has its own', () =>
      inPlace(async (place) => {
        const processes = await Promise.all([place.open(), place.open(), place.open()]);
        const sets = await Promise.all(processes.map((keys) => keys.load(ZONE)));
        const [first] = sets.map((set) => keySetData(set));
        for (const set of sets) assert.deepEqual(keySetData(set), first);
        assert.notDeepEqual(tags(await processes[0]!.load('uqrp.org')), tags(sets[0]!));
      }));

    it('are replaced as a whole by a change, which other processes read', () =>
      inPlace(async (place) => {
        const [one, other] = [await place.open(), await place.open()];
        const before = await one.load(ZONE);
        const { keys } = await one.update(ZONE, addKey);
        assert.equal(keys.keys.length, 3);
        assert.deepEqual(keySetData(await other.load(ZONE)), keySetData(keys));
        assert.deepEqual(tags(keys).slice(0, 2), tags(before));
      }));

    it('go through every step of a KSK rollover, each by another process, and none is taken early or twice', () =>
      inPlace(async (place) => {
        const original = await (await place.open()).load(ZONE);
        let now = clock();
        const step = async (confirmed: Confirmation | null): Promise<string> => {
          const keys = await place.open();
          const { outcome } = await keys.update(ZONE, (set) =>
            advance(set, 'ksk', {
              now,
              times: ROLLOVER_TIMES,
              confirmed,
              generate: (role, taken) => generateKey(role, 'published', now, taken),
            }),
          );
          return outcome.kind === 'advanced' ? outcome.step : outcome.kind;
        };
        const { dnskeyTtl, maxTtl, parentDsTtl, propagation } = ROLLOVER_TIMES;
        // Seconds to wait before each step, and what the operator confirms for it.
        const expected = [
          ['publish', 0, null],
          ['ds-added', 0, 'ds-added'],
          ['switch', parentDsTtl, null],
          ['withdraw', dnskeyTtl + propagation, null],
          ['remove', maxTtl + propagation, 'ds-removed'],
        ] as const;
        for (const [name, seconds, confirmed] of expected) {
          if (seconds > 0) {
            now += seconds * 1000 - 1;
            assert.equal(await step(confirmed), 'wait', `${name}, a millisecond early`);
            now += 1;
          }
          if (confirmed !== null) assert.equal(await step(null), 'confirm', name);
          assert.equal(await step(confirmed), name);
        }
        const { keys } = await (await place.open()).load(ZONE);
        assert.deepEqual(keys.map(({ role, state }) => `${role} ${state}`).sort(), [
          'ksk active',
          'zsk active',
        ]);
        const [oldKsk, oldZsk] = ['ksk', 'zsk'].map(
          (role) => original.keys.find((key) => key.role === role)!,
        );
        assert.equal(keys.find(({ role }) => role === 'zsk')!.keyTag, oldZsk!.keyTag);
        assert.notEqual(keys.find(({ role }) => role === 'ksk')!.keyTag, oldKsk!.keyTag);
      }));

    it('are rolled once when they are due, by processes that look at the same moment', () =>
      inPlace(async (place) => {
        const processes = await Promise.all([place.open(), place.open(), place.open()]);
        await processes[0]!.load(ZONE);
        const timers = createManualTimers();
        const steps: string[] = [];
        const rollovers = processes.map((keys) =>
          startAutomaticRollover({
            keys,
            zones: [ZONE],
            days: { zsk: 90, ksk: 3650 },
            parentDs: async () => [],
            nodesBehind: () => 0,
            clock: () => clock() + 91 * 86_400_000,
            onStep: (role, step) => steps.push(`${role} ${step}`),
            onWaiting: () => {},
            // The one that came second was told so by the storage.
            onError: (error) =>
              assert.equal((error as Error).message, `another process is changing the keys of ${ZONE}`),
            timers,
          }),
        );
        await timers.advance(0);
        await Promise.all(rollovers.map((rollover) => rollover.stop()));
        assert.deepEqual(steps, ['zsk publish']);
        assert.equal((await processes[0]!.load(ZONE)).keys.length, 3);
      }));

    it('stay as they are when a change gives back the same set, or throws', () =>
      inPlace(async (place) => {
        const keys = await place.open();
        const before = keySetData(await keys.load(ZONE));
        assert.equal((await keys.update(ZONE, (set) => ({ keys: set, said: 1 }))).said, 1);
        const failing = keys.update(ZONE, () => {
          throw new RangeError('no');
        });
        await assert.rejects(failing, RangeError);
        assert.deepEqual(keySetData(await keys.load(ZONE)), before);
      }));

    it('accept one of several changes at once; the others fail or follow it, and none is lost', () =>
      inPlace(async (place) => {
        const processes = await Promise.all([place.open(), place.open(), place.open()]);
        await processes[0]!.load(ZONE);
        const taken = await Promise.allSettled(
          processes.map((keys) =>
            keys.update(ZONE, (set) => (set.keys.length === 2 ? addKey(set) : { keys: set })),
          ),
        );
        const { keys } = await processes[0]!.load(ZONE);
        assert.equal(keys.length, 3);
        for (const result of taken) {
          if (result.status === 'rejected') {
            assert.equal((result.reason as Error).message, `another process is changing the keys of ${ZONE}`);
          } else assert.deepEqual(tags(result.value.keys), tags({ zone: ZONE, keys }));
        }
      }));
  });
}

const folder = (): string => mkdtempSync(join(tmpdir(), 'uqrp-zone-keys-'));

zoneKeysSuite('files', async () => {
  const dataDir = folder();
  return {
    open: async () => fileZoneKeys(dataDir, clock),
    close: async () => rmSync(dataDir, { recursive: true, force: true }),
  };
});

async function databasePlace(databaseUrl: string | null, drop: () => Promise<void>): Promise<Place> {
  const dataDir = folder();
  const stores: Store[] = [];
  return {
    async open() {
      const store = await openStore({ dataDir, databaseUrl, clock });
      stores.push(store);
      return databaseZoneKeys({ store, key: KEY, clock, mayMake: true });
    },
    async close() {
      for (const store of stores) await store.close();
      await drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

zoneKeysSuite('SQLite', () => databasePlace(null, async () => {}));
zoneKeysSuite(
  'PostgreSQL',
  async () => {
    const database = await postgresDatabase();
    return databasePlace(database.url, () => database.drop());
  },
  postgresMissing(),
);

describe('signing keys in a database', () => {
  async function inStore(scenario: (store: Store, dataDir: string) => Promise<void>): Promise<void> {
    const dataDir = folder();
    const store = await openStore({ dataDir, databaseUrl: null, clock });
    try {
      await scenario(store, dataDir);
    } finally {
      await store.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }

  it('have a version that only one change can increase', () =>
    inStore(async (store) => {
      await databaseZoneKeys({ store, key: KEY, clock, mayMake: true }).load(ZONE);
      const [set] = await readKeySets(store.read, [ZONE]);
      assert.equal(set!.version, 1);
      assert.equal(await store.write((tx) => replaceKeySet(tx, set!, 'next', 1)), true);
      assert.equal(await store.write((tx) => replaceKeySet(tx, set!, 'other', 2)), false);
      // The version of another one: it was given before a failover, and lost.
      const lost = { ...set!, version: 2, document: 'lost' };
      assert.equal(await store.write((tx) => replaceKeySet(tx, lost, 'other', 3)), false);
      assert.equal((await readKeySets(store.read, [ZONE]))[0]!.version, 2);
    }));

  it('cannot be decrypted under another secret, and are not replaced for it', () =>
    inStore(async (store) => {
      const made = await databaseZoneKeys({ store, key: KEY, clock, mayMake: true }).load(ZONE);
      const other = databaseZoneKeys({ store, key: Buffer.alloc(32, 2), clock, mayMake: true });
      await assert.rejects(other.load(ZONE), DecryptError);
      assert.deepEqual(
        tags(await databaseZoneKeys({ store, key: KEY, clock, mayMake: true }).load(ZONE)),
        tags(made),
      );
    }));

  it('of the earlier format are rewritten only by the control side, and stay the same keys', () =>
    inStore(async (store) => {
      const made = keySetData(generateKeySet(ZONE, clock()));
      await store.write((tx) => insertKeySet(tx, ZONE, earlierDocument(made, KEY), clock()));
      const stored = async () => (await readKeySets(store.read, [ZONE]))[0]!;
      const edge = databaseZoneKeys({ store, key: KEY, clock, mayMake: false });
      assert.deepEqual(keySetData(await edge.load(ZONE)), made);
      assert.equal((await stored()).version, 1);
      const control = databaseZoneKeys({ store, key: KEY, clock, mayMake: true });
      for (let load = 0; load < 2; load++) assert.deepEqual(keySetData(await control.load(ZONE)), made);
      const { version, document } = await stored();
      assert.equal(version, 2);
      assert.equal(isCurrentFormat(ZONE, document), true);
      assert.deepEqual(keySetData(await edge.load(ZONE)), made);
    }));

  it('are not made by a process of the edge role', () =>
    inStore(async (store) => {
      const edge = databaseZoneKeys({ store, key: KEY, clock, mayMake: false });
      await assert.rejects(edge.load(ZONE), /a process of the control role makes them/);
      assert.deepEqual(await readKeySets(store.read, [ZONE]), []);
    }));

  it('are taken over from the data directory of an earlier release, once', () =>
    inStore(async (sqlite, dataDir) => {
      const store = { ...sqlite, engine: 'postgres' } as const;
      const earlier = loadKeys(dataDir, ZONE, clock);
      const stored: string[] = [];
      const onStored = (_zone: string, origin: string): number => stored.push(origin);
      const keys = openZoneKeys({ dataDir, store, key: KEY, clock, mayMake: true, onStored });
      assert.deepEqual(keySetData(await keys.load(ZONE)), keySetData(earlier));
      await keys.load(ZONE);
      await keys.load('uqrp.org');
      assert.deepEqual(stored, ['imported', 'made']);
      assert.equal(existsSync(keyFile(dataDir, ZONE)), false);
      assert.equal(existsSync(`${keyFile(dataDir, ZONE)}.imported`), true);
      const back = openZoneKeys({ dataDir, store: sqlite, key: KEY, clock, mayMake: true });
      await assert.rejects(
        back.load(ZONE),
        /went into PostgreSQL.*rename .*\.imported to /,
        'no new keys in SQLite',
      );
    }));
});
