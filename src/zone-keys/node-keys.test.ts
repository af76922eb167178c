import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { postgresDatabase, postgresMissing } from '../../test/support/control/store/postgres.ts';
import { openStore } from '../control/store/open.ts';
import { nodeKeys } from '../control/store/tables/key-sets.ts';
import { keyFile } from '../edge/dnssec/keys/key-files.ts';
import { generateKey, KeyError, keySetData } from '../edge/dnssec/keys/key-set.ts';
import { fileKeys } from '../edge/node/file-keys.ts';
import type { ReadKeys } from '../edge/node/keys.ts';
import { sharedKeys } from '../edge/node/shared-keys.ts';
import { databaseZoneKeys } from './database-keys.ts';
import { fileZoneKeys } from './file-keys.ts';
import type { ZoneKeys } from './port.ts';

const ZONES = ['uqrp.net', 'uqrp.org'] as const;
const [NET, ORG] = ZONES;
const KEY = Buffer.alloc(32, 1);
const clock = Date.now;

/** One storage of signing keys: what the control side writes, and what a node reads. */
interface KeysWorld {
  readonly keys: ZoneKeys;
  readonly read: (zones: readonly string[]) => ReadKeys;
  /** Replaces the stored key set of a zone by a text that is none. */
  damage(zone: string): Promise<void>;
  close(): Promise<void>;
}

/** What a node relies on, from wherever it reads its signing keys. */
function nodeKeysSuite(name: string, create: () => Promise<KeysWorld>, skip: string | null = null): void {
  describe(`signing keys that a node reads from ${name}`, { skip: skip ?? false }, () => {
    const scenario = (title: string, run: (world: KeysWorld) => Promise<void>): void => {
      it(title, async () => {
        const world = await create();
        try {
          await run(world);
        } finally {
          await world.close();
        }
      });
    };
    const addKey = (keys: ZoneKeys, zone: string) =>
      keys.update(zone, (set) => {
        const tags = new Set(set.keys.map(({ keyTag }) => keyTag));
        return { keys: { ...set, keys: [...set.keys, generateKey('zsk', 'published', clock(), tags)] } };
      });

    scenario('are those of the zones that it names, in that order', async ({ keys, read }) => {
      const net = keySetData(await keys.load(NET));
      const org = keySetData(await keys.load(ORG));
      assert.deepEqual((await read([ORG, NET])()).open(), [org, net]);
      assert.deepEqual((await read([NET])()).open(), [net]);
    });

    scenario('have another mark once they changed, and the same mark until then', async ({ keys, read }) => {
      for (const zone of ZONES) await keys.load(zone);
      const look = read(ZONES);
      const { mark } = await look();
      assert.equal((await look()).mark, mark);
      const changed = await addKey(keys, ORG);
      const next = await look();
      assert.notEqual(next.mark, mark);
      assert.deepEqual(next.open()[1], keySetData(changed.keys));
    });

    scenario('a reading keeps what it read when the keys change after it', async ({ keys, read }) => {
      const before = keySetData(await keys.load(NET));
      const reading = await read([NET])();
      await addKey(keys, NET);
      assert.deepEqual(reading.open(), [before]);
    });

    scenario('a zone without keys is an error that names it, and reading makes none', async (world) => {
      await world.keys.load(NET);
      const look = world.read(ZONES);
      for (let i = 0; i < 2; i++) {
        await assert.rejects(
          look(),
          (error) => error instanceof KeyError && error.message.includes(ORG) && !error.message.includes(NET),
        );
      }
    });

    scenario('keys that cannot be used are a KeyError under another mark', async (world) => {
      await world.keys.load(NET);
      const look = world.read([NET]);
      const { mark } = await look();
      await world.damage(NET);
      const damaged = await look();
      assert.notEqual(damaged.mark, mark, 'else the node would not look at it');
      assert.throws(() => damaged.open(), KeyError);
    });
  });
}

const folder = (): string => mkdtempSync(join(tmpdir(), 'uqrp-node-keys-'));

nodeKeysSuite('the data directory', async () => {
  const dataDir = folder();
  return {
    keys: fileZoneKeys(dataDir, clock),
    read: (zones) => fileKeys({ dataDir, zones }),
    damage: async (zone) => writeFileSync(keyFile(dataDir, zone), 'none'),
    close: async () => rmSync(dataDir, { recursive: true, force: true }),
  };
});

async function databaseWorld(databaseUrl: string | null, drop: () => Promise<void>): Promise<KeysWorld> {
  const dataDir = folder();
  const store = await openStore({ dataDir, databaseUrl, clock });
  return {
    keys: databaseZoneKeys({ store, key: KEY, clock, mayMake: true }),
    read: (zones) => sharedKeys({ source: nodeKeys(store.read), zones, key: KEY }),
    async damage(zone) {
      await store.write((tx) =>
        tx.updateTable('dnssec_key_sets').set({ document: 'none' }).where('zone', '=', zone).execute(),
      );
    },
    async close() {
      await store.close();
      await drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

nodeKeysSuite('SQLite', () => databaseWorld(null, async () => {}));
nodeKeysSuite(
  'PostgreSQL',
  async () => {
    const database = await postgresDatabase();
    return databaseWorld(database.url, () => database.drop());
  },
  postgresMissing(),
);
