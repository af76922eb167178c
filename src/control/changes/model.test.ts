import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { presentEnd } from '../../../test/support/control/changes/asking.ts';
import { listen, openEvents } from '../../../test/support/control/query-log/event-reader.ts';
import { apiScenarios } from '../../../test/support/http/engines.ts';
import { runLoops } from '../../../test/support/http/server-parts.ts';
import {
  type Customer,
  created,
  type Json,
  openWorld,
  type World,
} from '../../../test/support/http/world.ts';
import { type Rng, seededRng } from '../../../test/support/protocol/dns/fuzz.ts';
import { pruneLog } from '../../store/log/change-log.ts';
import type { Store } from '../../store/store.ts';
import { sweepExpired } from '../records/expiry.ts';

/** `TEST_SEED=n` repeats the writes of a run, and what its readers want to do. */
const SEED = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
const WRITES = 100;
const KEYS = 40;
/** Milliseconds: readers are cut off within. */
const LIFE_MS = 60;

/** A change that was made, as `event name`. Those of a cascade are told only to who asks for them. */
interface Made {
  readonly text: string;
  readonly isCascade: boolean;
}

const textOf = ({ event, key, namespace }: Json): string => `${event} ${key ?? namespace}`;

/** What a reader has stored: its place, and what it was told in one go. After a place that is lost another go begins. */
interface Reader {
  readonly isCascade: boolean;
  place: string;
  readonly goes: string[][];
}

/** Writes at random. @returns whatever it changed, in the order of the answers: one writer, so that is the order of the commits */
async function write(world: World, owner: Customer, other: Customer, rng: Rng): Promise<Made[]> {
  const { store } = world;
  const made: Made[] = [];
  let count = 0;
  const add = (event: string, name: string, isCascade = false): void => {
    made.push({ text: `${event} ${name}`, isCascade });
  };
  const { name } = await owner.namespace();
  const foreign = await other.namespace();
  add('namespace.upserted', name);
  const alive = new Set<string>();
  const bulk = async (body: object): Promise<void> => {
    const { status, text } = await owner.post('/records/bulk', body);
    assert.equal(status, 200, text);
  };
  const data = (): string => Buffer.from(`MARKER ${rng(1e6)}`).toString('base64');
  const some = (of: readonly string[]): string[] => {
    const start = rng(of.length);
    return of.slice(start, start + 1 + rng(12));
  };
  const names = Array.from({ length: KEYS }, (_, i) => `k${i}.r.${name}.v1`);
  const steps: readonly (() => Promise<void>)[] = [
    async () => {
      const keys = some(names);
      await bulk({ records: keys.map((key) => ({ key, data: data() })) });
      for (const key of keys) {
        alive.add(key);
        add('record.upserted', key);
      }
    },
    async () => {
      if (alive.size === 0) return;
      const keys = some([...alive]);
      await bulk({ delete: keys });
      for (const key of keys) {
        alive.delete(key);
        add('record.deleted', key);
      }
    },
    async () => {
      const key = `one${count++}.r.${name}.v1`;
      const { id } = created(await owner.post('/records', { record: { key, data: data() } }));
      add('record.upserted', key);
      if (rng(2) === 0) return;
      assert.equal((await owner.del(`/records/${id}`)).status, 204);
      add('record.deleted', key);
    },
    async () => {
      const key = `short${count++}.r.${name}.v1`;
      await owner.record(key, { expires_in: 1 });
      world.advance(1_001);
      await sweepExpired(store, world.now(), 500);
      add('record.upserted', key);
      add('record.expired', key);
    },
    async () => {
      const brief = await owner.namespace();
      const key = `a.r.${brief.name}.v1`;
      await owner.record(key);
      await owner.del(`/namespaces/${brief.id}`);
      await runLoops(store, () => world.now());
      add('namespace.upserted', brief.name);
      add('record.upserted', key);
      add('namespace.closing', brief.name);
      add('record.deleted', key, true);
      add('namespace.deleted', brief.name);
    },
    async () => {
      await other.record(`o${count++}.r.${foreign.name}.v1`);
    },
  ];
  for (let i = 0; i < WRITES; i++) {
    await steps[rng(steps.length)]!();
    if (i % 33 === 32) await prune(store, world, rng(20));
    if (rng(4) === 0) await sleep(rng(10));
  }
  return made;
}

/** Leaves about so many rows of the log: the places of slow readers are lost. */
async function prune(store: Store, world: World, left: number): Promise<void> {
  await runLoops(store, () => world.now());
  const { head, oldest } = await store.changes.bounds();
  const limit = head - oldest + 1 - left;
  if (limit > 0) await store.write((tx) => pruneLog(tx, Number.MAX_SAFE_INTEGER, limit));
}

/** Asks for one page, and may be cut off before it has stored the answer. @returns whether there may be more */
async function readPage(owner: Customer, reader: Reader, rng: Rng, wait: number): Promise<boolean> {
  const query = `?since=${reader.place}&limit=${1 + rng(30)}&cascade=${reader.isCascade}&wait=${wait}`;
  const { status, json, text } = await owner.get(`/changes${query}`);
  if (status === 410) {
    reader.place = await presentEnd(owner);
    reader.goes.push([]);
    return true;
  }
  assert.equal(status, 200, text);
  assert.doesNotMatch(text, /MARKER|TUFSS0VS/);
  if (rng(3) === 0) return true;
  reader.goes.at(-1)!.push(...json.changes.map(textOf));
  reader.place = json.next;
  return json.changes.length > 0 || json.has_more;
}

/** Reads a stream until it is cut off, also between an event and its storing. */
async function readStream(port: number, owner: Customer, reader: Reader, rng: Rng): Promise<void> {
  const cascade = `cascade=${reader.isCascade}`;
  const stream = await openEvents(port, owner, {
    path: '/changes/stream',
    ...(rng(2) === 0
      ? { query: `?${cascade}&since=${reader.place}` }
      : { query: `?${cascade}`, headers: { 'last-event-id': reader.place } }),
  });
  // The place of the stream before may not be free yet.
  if (stream.status === 429) await sleep(5);
  const cut = setTimeout(() => stream.close(), rng(LIFE_MS));
  const most = 1 + rng(60);
  for (let count = 0; count < most; count++) {
    const event = await stream.next();
    if (event === null || rng(20) === 0) break;
    if (event.event === 'reset') reader.goes.push([]);
    if (event.event === 'message') reader.goes.at(-1)!.push(textOf(event.data));
    reader.place = event.id!;
  }
  clearTimeout(cut);
  stream.close();
}

apiScenarios(`changes, against a model (seed ${SEED})`, {
  'readers on two processes that are cut off and go on are told each change once, in order, or that some are lost':
    async (store) => {
      const [world, second] = [await openWorld(store), await openWorld(store)];
      const ports = [await listen(world), await listen(second)] as const;
      const [owner, other] = [await world.customer('pro'), await world.customer('pro')];
      const twin: Customer = { ...owner, get: (path) => second.caller(owner.token).get(path) };
      const start = await presentEnd(owner);
      const readers = Array.from(
        { length: 4 },
        (_, i): Reader => ({ isCascade: i % 2 === 0, place: start, goes: [[]] }),
      );
      let isWritten = false;
      const follow = async (reader: Reader, i: number): Promise<void> => {
        const rng = seededRng(SEED + 1 + i);
        while (!isWritten) {
          if (i < 2) await readPage(rng(2) === 0 ? owner : twin, reader, rng, rng(2));
          else await readStream(ports[rng(2)]!, owner, reader, rng);
          // Long enough for the log to be pruned meanwhile.
          if (rng(6) === 0) await sleep(rng(500));
        }
        while (await readPage(owner, reader, rng, 0));
      };
      const writing = write(world, owner, other, seededRng(SEED)).finally(() => {
        isWritten = true;
      });
      const [made] = await Promise.all([writing, ...readers.map(follow)]);
      for (const [i, { isCascade, goes }] of readers.entries()) {
        const expected = made.filter((one) => isCascade || !one.isCascade).map(({ text }) => text);
        // A go has no gap and no repetition; the first begins at the beginning, and the last ends at the end.
        let from = 0;
        for (const [at, seen] of goes.entries()) {
          const isLast = at === goes.length - 1;
          if (isLast) from = Math.max(from, expected.length - seen.length);
          while (at > 0 && !isLast && !startsWith(expected, from, seen) && from < expected.length) from++;
          assert.deepEqual(seen, expected.slice(from, from + seen.length), `reader ${i}, go ${at}`);
          from += seen.length;
        }
        assert.equal(from, expected.length, `reader ${i}`);
      }
      await Promise.all([world.close(), second.close()]);
    },
});

function startsWith(all: readonly string[], from: number, seen: readonly string[]): boolean {
  return seen.every((text, i) => all[from + i] === text);
}
