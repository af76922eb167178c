/** A registry with a transparency log, its signers and witnesses in memory. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { realRandom } from '../../../../src/base/chance.ts';
import { initLog, type LogKeys, verifierKeyOfLog } from '../../../../src/control/transparency/init.ts';
import { createLogSigner, type LogKey, type LogSigner } from '../../../../src/control/transparency/signer.ts';
import type { TrustPolicy } from '../../../../src/protocol/transparency/policy.ts';
import { checkNote } from '../../../../src/protocol/transparency/signatures.ts';
import { sameOctets } from '../../../../src/protocol/transparency/tree.ts';
import type { Store } from '../../../../src/store/store.ts';
import { lastPublishedCheckpoint, readLogEntries } from '../../../../src/store/transparency.ts';
import { type DatasetWorld, itemLines, withDatasets } from '../../store/dataset-world.ts';
import type { TestDatabase } from '../../store/fixtures.ts';
import { withStore } from '../../store/fixtures.ts';
import { findRows } from '../../store/rows.ts';
import { MemoryWitness, policyOf, sendTo } from './witness.ts';

export const ORIGIN = 'api.example.net/log';
export const START = 1_800_000_000_000;

/** Keys in memory, made once. */
export function memoryLogKeys(): LogKeys & { key: LogKey | null } {
  const keys: LogKeys & { key: LogKey | null } = {
    key: null,
    find: async () => keys.key,
    async make(origin) {
      if (keys.key !== null) return false;
      keys.key = { origin, privateKey: generateKeyPairSync('ed25519').privateKey };
      return true;
    },
  };
  return keys;
}

export interface LogWorld {
  readonly store: Store;
  readonly open: TestDatabase['open'];
  readonly datasets: DatasetWorld;
  readonly keys: ReturnType<typeof memoryLogKeys>;
  readonly witnesses: readonly MemoryWitness[];
  readonly policy: TrustPolicy;
  /** Milliseconds since the epoch; tests move it. */
  time: number;
  readonly signer: LogSigner;
  signerOf(store: Store): LogSigner;
  /** Runs `uqrp log init` and tells the witnesses of the log. */
  init(): Promise<void>;
  /** Imports a version of a small dataset with the log on. */
  publish(version: string, slug?: string, store?: Store): Promise<void>;
  /** Passes until there is nothing to do, twenty at most. */
  settle(signer?: LogSigner): Promise<void>;
  /** What a reader of the published checkpoint sees. @throws where the policy does not trust it */
  published(): Promise<number>;
}

export async function withLog(
  create: () => Promise<TestDatabase>,
  scenario: (world: LogWorld) => Promise<void>,
  count = 3,
): Promise<void> {
  await withStore(create, (store, open) =>
    withDatasets(async (datasets) => {
      const witnesses = Array.from({ length: count }, (_, i) => new MemoryWitness(`w${i + 1}`));
      const policy = policyOf(witnesses);
      const keys = memoryLogKeys();
      const signerOf = (over: Store): LogSigner =>
        createLogSigner({
          store: over,
          clock: () => world.time,
          policy,
          send: sendTo(witnesses),
          findKey: () => keys.find(),
          random: realRandom,
        });
      const world: LogWorld = {
        store,
        open,
        datasets,
        keys,
        witnesses,
        policy,
        time: START,
        signer: signerOf(store),
        signerOf,
        async init() {
          await initLog({ store, clock: () => world.time }, keys, ORIGIN);
          for (const witness of witnesses) witness.log = verifierKeyOfLog(keys.key!);
        },
        async publish(version, slug = 'demo', over = store) {
          const files = datasets.sign(version, itemLines(2), { slug });
          await datasets.import(over, files, {}, { isLogged: true });
        },
        async settle(signer = world.signer) {
          for (let pass = 0; pass < 20; pass++) if ((await signer.pass()) !== 0) return;
          assert.fail('the signer does not come to rest');
        },
        async published() {
          const checkpoint = await lastPublishedCheckpoint(store.read);
          if (checkpoint === null) return 0;
          const trust = { ...policy, logs: [{ key: verifierKeyOfLog(keys.key!), url: null }] };
          const judged = checkNote(checkpoint.note, trust);
          assert.ok(judged.valid, JSON.stringify(judged));
          assert.ok(sameOctets(judged.checkpoint.root, checkpoint.root));
          return checkpoint.size;
        },
      };
      await scenario(world);
    }),
  );
}

/** Leaves of the log as text, in order. */
export async function leavesIn({ read }: Pick<Store, 'read'>): Promise<string[]> {
  return (await readLogEntries(read, 0, 1000)).map(({ leaf }) => Buffer.from(leaf).toString('utf8'));
}

/** Numbers have no gap, and no two checkpoints are of one size. */
export async function assertWhole({ read }: Pick<Store, 'read'>): Promise<void> {
  const entries = await findRows(read, 'log_entries', { columns: ['idx'], order: 'idx' });
  assert.deepEqual(
    entries.map(({ idx }) => idx),
    entries.map((_, at) => at),
  );
  const [head] = await findRows(read, 'log_head', { columns: ['size'] });
  assert.equal(head?.size ?? 0, entries.length);
}
