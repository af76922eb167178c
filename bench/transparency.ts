/**
 * The transparency log with 10^6 entries: a checkpoint, a proof, memory, and what publishing costs more.
 *
 *   node --expose-gc bench/transparency.ts [entries] [rounds]
 *
 * Checkpoint and proof are milliseconds of CPU, publishing of time.
 *
 *   checkpoint   the root of the last signed size again, and the root of the new one
 *   proof        one tlog-proof of a random entry
 *   memory       heap and buffers of the signer's work, after it
 *   publishing   the unit that serves a version, with the log and without, in turn
 */
import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appendLogEntries, insertAt, keyEntry } from '../src/control/transparency/append.ts';
import { inclusionsAt, rootAt } from '../src/control/transparency/tree.ts';
import { leafHash } from '../src/protocol/transparency/tree.ts';
import { openStore } from '../src/store/open.ts';
import { holdLogHead, insertLogHead } from '../src/store/transparency.ts';
import { median } from './lib/figures.ts';

const entries = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 21);
/** Entries of one unit while the log is filled. */
const FILL = 12_800;

const dataDir = mkdtempSync(join(tmpdir(), 'uqrp-bench-transparency-'));
const store = await openStore({ dataDir, databaseUrl: null, clock: Date.now });
await store.write(async (tx) => {
  await insertLogHead(tx, 'api.example.net/log');
});
const rowOf = (n: number) => ({
  kid: String(n),
  public_key: Buffer.alloc(32, n).toString('base64'),
  since: n,
  until: null,
  is_own: 0,
});
for (let from = 0; from < entries; from += FILL) {
  await store.write(async (tx) => {
    const { size } = (await holdLogHead(tx))!;
    const count = Math.min(FILL, entries - from);
    const fresh = Array.from({ length: count }, (_, i) => {
      const draft = keyEntry(rowOf(from + i));
      return { ...draft, idx: size + i, hash: leafHash(draft.leaf) };
    });
    await insertAt(tx, size, fresh);
  });
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

/** Milliseconds of CPU: other work of the machine does not count. */
async function cpu(run: () => Promise<unknown>): Promise<number> {
  const began = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000;
}

function memory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_048_576;
}

async function unit(kids: readonly number[], isLogged: boolean): Promise<void> {
  await store.write(async (tx) => {
    await tx.execute('update log_head set held_until = held_until + 1 where id = 1', []);
    if (isLogged)
      await appendLogEntries(
        tx,
        kids.map((n) => keyEntry(rowOf(n))),
      );
  });
}

const tell = (what: string, figures: readonly number[], bar: string): void => {
  const [middle, most] = [median(figures), Math.max(...figures)].map((ms) => ms.toFixed(2));
  process.stdout.write(`${what.padEnd(12)} median ${middle}, most ${most}   bar: ${bar}\n`);
};

const before = memory();
const checkpoints: number[] = [];
const proofs: number[] = [];
for (let round = 0; round < rounds; round++) {
  checkpoints.push(
    await cpu(async () => {
      await rootAt(store.read, entries - 1);
      await rootAt(store.read, entries);
    }),
  );
  proofs.push(await cpu(() => inclusionsAt(store.read, [randomInt(entries)], entries)));
}
tell('checkpoint', checkpoints, '50 ms');
tell('proof', proofs, '1 ms');
process.stdout.write(`memory       ${(memory() - before).toFixed(1)} MB more   bar: 20 MB\n`);
const logged: number[] = [];
const plain: number[] = [];
let next = entries;
for (let round = 0; round < rounds * 10; round++) {
  // A key and a manifest are what one version brings.
  const kids = [next++, next++];
  const turns = [() => timed(() => unit(kids, true)), () => timed(() => unit([], false))];
  const [first, second] = round % 2 === 0 ? [0, 1] : [1, 0];
  const took = [0, 0];
  took[first] = await turns[first]!();
  took[second] = await turns[second]!();
  logged.push(took[0]!);
  plain.push(took[1]!);
}
tell('with log', logged, '');
tell('without', plain, '');
const more = logged.map((ms, i) => ms - plain[i]!);
tell('publishing', more, '2 ms more, in the median');
await store.close();
rmSync(dataDir, { recursive: true, force: true });
