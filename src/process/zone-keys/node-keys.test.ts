import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { nodeKeys } from '../../../test/support/feed/batch/keys.ts';
import { secrets, verifier } from '../../../test/support/feed/batch/messages.ts';
import { createMemoryBroker } from '../../../test/support/feed/bus/memory-bus.ts';
import { controlEnd, keyOfAny, nodeEnd } from '../../../test/support/feed/exchange/nodes.ts';
import { changingNodes } from '../../../test/support/feed/keys/key-world.ts';
import { postgresDatabase } from '../../../test/support/store/postgres.ts';
import { postgresMissing } from '../../../test/support/store/postgres-files.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import { keyFile } from '../../dns/dnssec/key-files.ts';
import { generateKey, KeyError, type KeySet, keySetData } from '../../dns/dnssec/key-set.ts';
import { isPresigned, PRESIGN_EVERY_MS } from '../../dns/dnssec/node-key-set.ts';
import { startSecretsService } from '../../feed/keys/control-keys.ts';
import { openNodeSecrets } from '../../feed/keys/node-keys.ts';
import { COOKIE_PERIOD_MS, type NodeKeys, TICKET_PERIOD_MS } from '../../feed/ports/node-keys.ts';
import { openStore } from '../../store/open.ts';
import { readSecrets } from '../node/keys.ts';
import {
  type ControlSecretsOptions,
  controlSecrets,
  fileZoneKeys,
  type ZoneKeys,
} from './control-secrets.ts';
import { databaseZoneKeys } from './open.ts';

const ZONES = ['uqrp.net', 'uqrp.org'] as const;
const [NET, ORG] = ZONES;
const KEY = Buffer.alloc(32, 1);
/** A day ago, so that all keys are in use at once. */
const before = (): number => Date.now() - COOKIE_PERIOD_MS;

type Mode = Pick<ControlSecretsOptions, 'mode' | 'zones'> & Partial<Pick<ControlSecretsOptions, 'clock'>>;

/** One storage of signing keys: what the control side writes, and what a node reads. */
interface KeysWorld {
  readonly keys: ZoneKeys;
  /** The node's end. */
  readonly node: (mode: Mode) => NodeKeys;
  /** Replaces the stored key set of a zone by a text that is none. */
  readonly damage: (zone: string) => Promise<void>;
  close(): Promise<void>;
}

/** Resolves with the first reading that is `wanted`: over the bus a change takes a second. */
async function until<T>(read: () => Promise<T>, wanted: (found: T) => boolean): Promise<T> {
  for (;;) {
    const found = await read();
    if (wanted(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a node relies on, from wherever it gets its secrets. */
function nodeKeysSuite(name: string, create: () => Promise<KeysWorld>, skip: string | null = null): void {
  describe(`secrets that a node gets from ${name}`, { skip: skip ?? false }, () => {
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
    const addKey = (keys: ZoneKeys, zone: string): Promise<{ keys: KeySet }> =>
      keys.update(zone, (set) => {
        const tags = new Set(set.keys.map(({ keyTag }) => keyTag));
        return { keys: { ...set, keys: [...set.keys, generateKey('zsk', 'published', before(), tags)] } };
      });

    scenario('are the key sets of the zones that it names, in that order', async ({ keys, node }) => {
      const net = keySetData(await keys.load(NET));
      const org = keySetData(await keys.load(ORG));
      const source = node({ mode: 'full', zones: ZONES });
      assert.deepEqual((await readSecrets(source, [ORG, NET])()).secrets.keys, [org, net]);
      assert.deepEqual((await readSecrets(source, [NET])()).secrets.keys, [net]);
    });

    scenario('have another mark once they changed, and the same mark until then', async ({ keys, node }) => {
      for (const zone of ZONES) await keys.load(zone);
      const look = readSecrets(node({ mode: 'full', zones: ZONES }), ZONES);
      const { marks } = await look();
      assert.deepEqual((await look()).marks, marks);
      const changed = await addKey(keys, ORG);
      const next = await until(look, (found) => found.marks.keys !== marks.keys);
      assert.deepEqual(next.secrets.keys[1], keySetData(changed.keys));
    });

    for (const mode of ['full', 'split'] as const) {
      scenario(
        `are the same keys over midnight, when cookies and tickets have other secrets (${mode})`,
        async (world) => {
          await world.keys.load(NET);
          // At no multiple of three days: then control signs the rrsets of the apex again.
          const midnight =
            (Math.floor(Date.now() / PRESIGN_EVERY_MS) + 1) * PRESIGN_EVERY_MS + COOKIE_PERIOD_MS;
          let now = midnight - 1;
          const look = readSecrets(world.node({ mode, zones: [NET], clock: () => now }), [NET]);
          const before = await look();
          now = midnight;
          const after = await until(look, ({ marks }) => marks.periods !== before.marks.periods);
          assert.deepEqual(
            [after.secrets.cookies, after.secrets.tickets].map((secrets) => secrets[1]!.period),
            [midnight / COOKIE_PERIOD_MS, midnight / TICKET_PERIOD_MS],
          );
          assert.equal(after.marks.keys, before.marks.keys);
          assert.equal(after.secrets.keys, before.secrets.keys);
        },
      );
    }

    scenario('are signed rrsets and the ZSKs in split mode, and no KSK', async ({ keys, node }) => {
      const set = await keys.load(NET);
      const [found] = (await readSecrets(node({ mode: 'split', zones: [NET] }), [NET])()).secrets.keys;
      assert.ok(isPresigned(found!));
      assert.deepEqual(
        found.keys.map(({ keyTag }) => keyTag),
        set.keys.filter(({ role }) => role === 'zsk').map(({ keyTag }) => keyTag),
      );
      for (const { privateKey } of set.keys.filter(({ role }) => role === 'ksk')) {
        const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
        assert.equal(JSON.stringify(found).includes(JSON.stringify(pem).slice(1, -1)), false);
      }
    });

    scenario(
      'are cookie and ticket secrets of the present period, the one before and the next',
      async (world) => {
        const source = world.node({ mode: 'full', zones: [] });
        const { cookies, tickets } = await source.read();
        const day = Math.floor(Date.now() / COOKIE_PERIOD_MS);
        const half = Math.floor(Date.now() / TICKET_PERIOD_MS);
        assert.deepEqual(
          cookies.map(({ period, secret }) => [period - day, secret.length]),
          [
            [-1, 16],
            [0, 16],
            [1, 16],
          ],
        );
        assert.deepEqual(
          tickets.map(({ period, secret }) => [period - half, secret.length]),
          [
            [-1, 48],
            [0, 48],
            [1, 48],
          ],
        );
        const all = [...cookies, ...tickets].map(({ secret }) =>
          Buffer.from(secret.subarray(0, 16)).toString('hex'),
        );
        assert.equal(new Set(all).size, 6);
      },
    );

    scenario('a zone without keys is an error that names it, and reading makes none', async (world) => {
      await world.keys.load(NET);
      const look = readSecrets(world.node({ mode: 'full', zones: [NET] }), ZONES);
      for (let i = 0; i < 2; i++) {
        await assert.rejects(
          look(),
          (error) => error instanceof KeyError && error.message.includes(ORG) && !error.message.includes(NET),
        );
      }
      assert.equal(await world.keys.find(ORG), null);
    });
  });
}

const folder = (): string => mkdtempSync(join(tmpdir(), 'uqrp-node-keys-'));

/** The source of control, as its own process reads it. */
function sourceOf(keys: ZoneKeys, mode: Mode): NodeKeys {
  return controlSecrets({ clock: Date.now, ...mode, keys, cookieKey: KEY, ticketKey: Buffer.alloc(32, 2) });
}

async function directoryWorld(): Promise<KeysWorld> {
  const dataDir = folder();
  const keys = fileZoneKeys(dataDir, before);
  return {
    keys,
    node: (mode) => sourceOf(keys, mode),
    damage: async (zone) => writeFileSync(keyFile(dataDir, zone), 'none'),
    close: async () => rmSync(dataDir, { recursive: true, force: true }),
  };
}

async function databaseWorld(databaseUrl: string | null, drop: () => Promise<void>): Promise<KeysWorld> {
  const dataDir = folder();
  const store = await openStore({ dataDir, databaseUrl, clock: before });
  const keys = databaseZoneKeys({ store, key: KEY, clock: before, mayMake: true });
  return {
    keys,
    node: (mode) => sourceOf(keys, mode),
    async damage(zone) {
      await store.write((tx) => updateRows(tx, 'dnssec_key_sets', { document: 'none' }, { zone }));
    },
    async close() {
      await store.close();
      await drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Files of control, delivered to a node over a bus in memory. */
async function busWorld(): Promise<KeysWorld> {
  const world = await directoryWorld();
  const broker = createMemoryBroker();
  const stops: (() => Promise<void>)[] = [];
  return {
    ...world,
    node(mode) {
      stops.push(
        startSecretsService({
          source: world.node(mode),
          database: 'one',
          end: controlEnd(broker.connect('control'), {
            verifierOf: keyOfAny,
            signing: { signer: secrets.signer, random: (octets) => randomBytes(octets) },
            clock: Date.now,
          }),
          nodes: changingNodes('fra1'),
        }),
      );
      const bus = broker.connect('fra1');
      const node = openNodeSecrets({
        bus,
        rpc: nodeEnd(bus, 'fra1', { random: (octets) => randomBytes(octets) }),
        verifier,
        own: { node: 'fra1', privateKey: nodeKeys(1).privateKey },
        copy: { read: () => null, write() {} },
      });
      stops.push(() => node.stop());
      return node;
    },
    async close() {
      for (const stop of stops) await stop();
      await world.close();
    },
  };
}

nodeKeysSuite('the data directory', directoryWorld);
nodeKeysSuite('SQLite', () => databaseWorld(null, async () => {}));
nodeKeysSuite(
  'PostgreSQL',
  async () => {
    const database = await postgresDatabase();
    return databaseWorld(database.url, () => database.drop());
  },
  postgresMissing(),
);
nodeKeysSuite('the bus', busWorld);

describe('secrets of the control side', () => {
  for (const [name, create] of [
    ['the data directory', directoryWorld],
    ['SQLite', () => databaseWorld(null, async () => {})],
  ] as const) {
    it(`cannot be read from ${name} while keys are damaged, and can afterwards`, async () => {
      const world = await create();
      const set = await world.keys.load(NET);
      const source = world.node({ mode: 'full', zones: [NET] });
      await source.read();
      await world.damage(NET);
      await assert.rejects(source.read(), KeyError);
      assert.ok(set.keys.length > 0);
      await world.close();
    });
  }

  it('have the same mark in two processes, although their signatures differ', async () => {
    const world = await directoryWorld();
    await world.keys.load(NET);
    const [one, two] = await Promise.all(
      [1, 2].map(() => world.node({ mode: 'split', zones: [NET] }).read()),
    );
    assert.equal(one!.zones[0]!.mark, two!.zones[0]!.mark);
    assert.notEqual(one!.zones[0]!.document, two!.zones[0]!.document);
    await world.close();
  });
});
