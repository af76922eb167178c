import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { testActor, testDeps } from '../../../test/support/store/deletion-world.ts';
import { onEachEngine } from '../../../test/support/store/engines.ts';
import { settle, withStore } from '../../../test/support/store/fixtures.ts';
import { AppError } from '../../base/errors.ts';
import { aesGcmEncryption } from '../../base/seal.ts';
import type { Store } from '../../store/store.ts';
import { pruneVersions } from '../../store/version-retention.ts';
import { patchNamespace } from '../namespaces/rules.ts';
import { writeBulk } from '../records/bulk.ts';
import { sweepExpired } from '../records/expiry.ts';
import { exportRecords } from '../records/listing.ts';
import { deleteRecord, patchRecord } from '../records/rules.ts';
import { epochTag, openPositions } from '../unit.ts';
import { exportThen } from './export.ts';
import { eraseKeyVersions, getVersion, listKeyVersions, restoreDeleted, restoreRecord } from './rules.ts';
import { undoWrite } from './undo.ts';

const STEPS = 500;
const KEYS = Array.from({ length: 8 }, (_, i) => `k${i}.doc.acme.v1`);

interface Value {
  readonly data: string;
  readonly from: number;
  readonly expires: number | null;
}

interface Past extends Value {
  readonly to: number;
  readonly cause: 'write' | 'delete';
}

/** What one write did to a key: the value before, and the count of writes of the key after it. */
interface Effect {
  readonly key: string;
  readonly before: Value | null;
  readonly writes: number;
}

/** A random number generator that a failed run can be repeated with. */
function dice(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Random writes, expiries, restores and undos, against a history in memory. */
onEachEngine((create) => {
  describe('a history of random writes', () => {
    it('is that of a model: versions, data, undo and the export of each time', () => withStore(create, play));
  });
});

async function play(store: Store): Promise<void> {
  let now = 1_000_000;
  const seed = randomBytes(4).readUInt32BE();
  const roll = dice(seed);
  const home = await settle(store);
  const actor = testActor(home);
  const deps = {
    ...testDeps(store, () => now),
    positions: openPositions(aesGcmEncryption(randomBytes(32), randomBytes, 0)),
  };
  await patchNamespace(deps, actor, home.namespaceId, { history: { versions: 100, days: 365 } });

  const present = new Map<string, Value>();
  const past = new Map<string, Past[]>(KEYS.map((key) => [key, []]));
  const writes = new Map<string, number>();
  const log: { readonly seq: number; readonly effects: readonly Effect[]; isErased: boolean }[] = [];
  const exports: {
    readonly at: number;
    readonly lines: readonly string[];
    readonly values: ReadonlyMap<string, Value>;
  }[] = [];
  let wholeSince = now;

  const live = (key: string): Value | undefined => {
    const value = present.get(key);
    return value === undefined || (value.expires !== null && value.expires <= now) ? undefined : value;
  };
  /** The value of a key becomes this one; null: none. */
  const become = (key: string, next: Value | null): Effect => {
    const before = live(key) ?? null;
    if (before !== null)
      past.get(key)!.push({ ...before, to: now, cause: next === null ? 'delete' : 'write' });
    if (next === null) present.delete(key);
    else present.set(key, { ...next, from: now });
    writes.set(key, (writes.get(key) ?? 0) + 1);
    return { key, before, writes: writes.get(key)! };
  };
  const wrote = async (effects: readonly Effect[]): Promise<void> => {
    const { head } = await store.changes.bounds();
    if (effects.length > 0) log.push({ seq: head, effects, isErased: false });
  };
  const idOf = async (key: string): Promise<string> => {
    const sql = `select id from records where key = '${key}'`;
    return (await store.read.execute<{ id: string }>(sql, [])).rows[0]!.id;
  };
  const fresh = (): Value => ({
    data: Buffer.from(`value ${roll(1_000_000)}`).toString('base64'),
    from: now,
    expires: roll(6) === 0 ? now + 1 + roll(400) : null,
  });
  const time = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
  const isPast = ({ expires }: Value): boolean => expires !== null && expires <= now;

  const acts: (() => Promise<void>)[] = [
    async () => {
      const chosen = KEYS.filter(() => roll(3) === 0);
      const puts = chosen.filter(() => roll(3) > 0).map((key) => ({ key, value: fresh() }));
      const gone = chosen.filter((key) => !puts.some((one) => one.key === key));
      if (chosen.length === 0) return;
      await writeBulk(deps, actor, {
        records: puts.map(({ key, value }) => ({ key, data: value.data, expires_at: time(value.expires) })),
        delete: gone,
      });
      const effects = puts.map(({ key, value }) => become(key, value));
      for (const key of gone) if (live(key) !== undefined) effects.push(become(key, null));
      await wrote(effects);
    },
    async () => {
      const key = KEYS[roll(KEYS.length)]!;
      const value = live(key);
      if (value === undefined) return;
      const next = fresh();
      await patchRecord(deps, actor, await idOf(key), { data: next.data, expires_at: time(next.expires) });
      await wrote([become(key, next)]);
    },
    async () => {
      const key = KEYS[roll(KEYS.length)]!;
      if (live(key) === undefined) return;
      const erase = roll(8) === 0;
      await deleteRecord(deps, actor, await idOf(key), { erase });
      await wrote([become(key, null)]);
      if (erase) erased(key);
    },
    async () => {
      const key = KEYS[roll(KEYS.length)]!;
      const { versions } = await listKeyVersions(deps, actor, home.namespaceId, { key, limit: '100' });
      const rows = past.get(key)!.toReversed();
      const old = versions.filter(({ valid_to }) => valid_to !== null);
      if (old.length === 0) return;
      const at = roll(old.length);
      const value = rows[at]!;
      const body = { version: old[at]!.version };
      const act = async () =>
        live(key) === undefined
          ? restoreDeleted(deps, actor, home.namespaceId, { key, ...body })
          : restoreRecord(deps, actor, await idOf(key), body);
      if (isPast(value)) await assert.rejects(act, /version has expired/);
      else {
        await act();
        await wrote([become(key, value)]);
      }
    },
    async () => {
      if (log.length === 0) return;
      const write = log[log.length - 1 - roll(Math.min(6, log.length))]!;
      const { epoch } = await store.changes.bounds();
      const text = deps.positions.text(actor.customerId, { seq: write.seq, at: 0, epoch: epochTag(epoch) });
      const result = await undoWrite(deps, actor, home.namespaceId, { write: text }).catch(
        (error: unknown) => {
          assert.ok(error instanceof AppError, String(error));
          return error.status;
        },
      );
      const { effects } = write;
      const isChanged = effects.some(({ key, writes: count }) => writes.get(key) !== count);
      const hasExpired = effects.some(({ before }) => before !== null && isPast(before));
      const expected = write.isErased ? 404 : isChanged ? 412 : hasExpired ? 422 : 200;
      assert.equal(
        typeof result === 'number' ? result : 200,
        expected,
        `seed ${seed}: ${JSON.stringify([result, expected, effects])}`,
      );
      if (expected !== 200) return;
      const undone = effects.filter(({ key, before }) => before !== null || live(key) !== undefined);
      await wrote(undone.map(({ key, before }) => become(key, before)));
    },
    async () => {
      if (roll(6) > 0) return;
      const key = KEYS[roll(KEYS.length)]!;
      await eraseKeyVersions(deps, actor, home.namespaceId, { key });
      erased(key);
    },
  ];
  function erased(key: string): void {
    wholeSince = Math.max(wholeSince, ...past.get(key)!.map(({ to }) => to));
    past.set(key, []);
    for (const write of log) if (write.effects.some((one) => one.key === key)) write.isErased = true;
  }

  const numbers = new Map<string, number>();
  for (let step = 0; step < STEPS; step++) {
    now += 2 + roll(20);
    await acts[roll(acts.length)]!();
    now += 1;
    if (roll(4) === 0) await sweepExpired(store, now, 500);
    if (roll(4) === 0) await pruneVersions(store, now, new AbortController().signal);
    exports.push({
      at: now,
      lines: await linesOf(exportRecords(deps, actor, home.namespace)),
      values: new Map(KEYS.flatMap((key) => (live(key) === undefined ? [] : [[key, live(key)!]]))),
    });

    const key = KEYS[roll(KEYS.length)]!;
    const { versions } = await listKeyVersions(deps, actor, home.namespaceId, { key, limit: '100' });
    const value = live(key);
    const wanted = [
      ...(value === undefined ? [] : [{ ...value, to: null, cause: null }]),
      ...past.get(key)!.toReversed(),
    ].slice(0, 100);
    assert.deepEqual(
      versions.map(({ valid_from, valid_to, cause, bytes }) => [valid_from, valid_to, cause, bytes]),
      wanted.map(({ from, to, cause, data }) => [
        time(from),
        time(to),
        cause,
        Buffer.from(data, 'base64').length,
      ]),
      `seed ${seed}, step ${step}`,
    );
    for (const [i, one] of versions.entries()) {
      assert.ok(i === 0 || one.version < versions[i - 1]!.version);
      // A value keeps its number, however often it is asked for.
      const name = `${key} ${one.valid_from}`;
      assert.equal(numbers.get(name) ?? one.version, one.version, `seed ${seed}`);
      numbers.set(name, one.version);
    }
    if (value !== undefined && versions.length > 1) {
      const at = 1 + roll(versions.length - 1);
      const read = getVersion(deps, actor, await idOf(key), versions[at]!.version);
      if (isPast(wanted[at]!)) await assert.rejects(read, /version has expired/);
      else assert.equal((await read).data, wanted[at]!.data);
    }
  }

  for (const { at, lines, values } of exports.filter((_, i) => i % 5 === 0)) {
    const then = exportThen(deps, actor, home.namespace, new Date(at).toISOString());
    if (at < wholeSince) await assert.rejects(then, /before the history begins/);
    else {
      const found = await linesOf(await then);
      const kept = [...values].filter(([, value]) => !isPast(value));
      const wanted = kept.map(([key, { data }]) => `${key} ${data}`);
      assert.deepEqual(found.toSorted(), wanted.toSorted(), `seed ${seed}`);
      // In the order of the export that was taken then.
      const left = new Set(wanted);
      assert.deepEqual(
        found,
        lines.filter((line) => left.has(line)),
        `seed ${seed}`,
      );
    }
  }
}

async function linesOf(
  batches: AsyncIterable<readonly { readonly key: string; readonly data: string }[]>,
): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of batches) for (const { key, data } of batch) lines.push(`${key} ${data}`);
  return lines;
}
