import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Change, ChangeBody } from '../core/change.ts';
import { createMemoryView, type MemoryView } from '../edge/hosted/memory-view.ts';
import type { ViewWriter } from '../edge/hosted/view.ts';
import { createFakeSource, type FakeSource } from './fake-source.ts';
import { type Follower, type FollowerOptions, startFollower } from './follower.ts';

const namespace = (name: string): ChangeBody => ({
  type: 'namespace.upserted',
  namespace: name,
  id: name,
  publicRead: false,
  suspended: false,
  recordsCount: 0,
  createdAt: 0,
  updatedAt: 0,
});
const record = (key: string, text = key): ChangeBody => {
  const [version, name, resource] = key.split('.').reverse() as [string, string, string];
  const data = Buffer.from(text).toString('base64');
  const rest = { contentType: 'text/plain', ttlSeconds: 300, expiresAt: null };
  return { type: 'record.upserted', key, namespace: name, resource, version, data, ...rest };
};
const erased = (key: string): ChangeBody => ({
  type: 'record.deleted',
  key,
  namespace: key.split('.').at(-2)!,
});

/** Far longer than a test may take: what happens then did not happen by polling. */
const NEVER = 600_000;

describe('follower', () => {
  let source: FakeSource;
  let view: MemoryView;
  let follower: Follower | null;
  let now: number;
  let states: string[];
  let errors: unknown[];
  let applied: number[];
  beforeEach(() => {
    source = createFakeSource();
    view = createMemoryView();
    follower = null;
    now = 50_000;
    states = [];
    errors = [];
    applied = [];
  });
  afterEach(async () => {
    source.before = () => undefined;
    await follower?.stop();
  });

  function start(options: Partial<FollowerOptions> = {}): Follower {
    follower = startFollower({
      source,
      view,
      clock: () => now,
      pollMs: NEVER,
      onState: (state) => states.push(state),
      onError: (error) => errors.push(error),
      onApplied: (changes: readonly Change[]) => applied.push(...changes.map(({ seq }) => seq)),
      ...options,
    });
    return follower;
  }

  /** Waits until it holds; the test runner's own limit ends a wait in vain. */
  async function until(condition: () => boolean): Promise<void> {
    while (!condition()) await nextTurn();
  }
  const caughtUp = (): boolean => view.state.cursor === source.state().cursor;
  const assertSame = (): void => assert.deepEqual(view.state, source.state());

  it('fills an empty view from the snapshot, then follows', async () => {
    source.write(namespace('ns'), record('a.ns.v1'), record('b.ns.v1'), erased('a.ns.v1'));
    const { ready, state } = start();
    assert.equal(state(), 'rebuilding');
    await ready;
    assertSame();
    assert.equal(state(), 'following');
    assert.deepEqual(applied, []);
    source.write(record('c.ns.v1'));
    await until(caughtUp);
    assertSame();
    assert.deepEqual(applied, [5]);
  });

  it('is ready over an empty source', async () => {
    await start().ready;
    assert.equal(view.cursor(), 0);
    source.write(namespace('ns'));
    await until(caughtUp);
    assertSame();
  });

  it('resumes from the cursor without a snapshot', async () => {
    source.write(namespace('ns'), record('a.ns.v1'));
    await start().ready;
    await follower?.stop();
    const { snapshot } = source.calls;
    source.write(record('b.ns.v1'), record('c.ns.v1'));
    await start().ready;
    assertSame();
    assert.equal(source.calls.snapshot, snapshot);
    assert.deepEqual(applied, [3, 4]);
    assert.deepEqual(states, ['following']);
  });

  it('applies many changes in batches', async () => {
    await start({ batch: 10 }).ready;
    const sizes: number[] = [];
    const { apply } = view;
    view.apply = (changes, cursor) => {
      sizes.push(changes.length);
      return apply(changes, cursor);
    };
    source.write(...Array.from({ length: 25 }, (_, i) => record(`r${i}.ns.v1`)));
    await until(caughtUp);
    assertSame();
    assert.deepEqual(sizes, [10, 10, 5]);
  });

  it('finds by polling what no wake-up told', async () => {
    source.announcing = false;
    await start({ pollMs: 5 }).ready;
    source.write(record('a.ns.v1'));
    await until(caughtUp);
    assertSame();
  });

  it('takes many wake-ups for one, and none for nothing', async () => {
    await start().ready;
    const { since } = source.calls;
    for (let i = 0; i < 20; i++) for (const listener of source.listeners) listener();
    await until(() => source.calls.since > since);
    await nextTurn();
    assert.equal(source.calls.since, since + 1);
    assert.equal(source.calls.bounds, 2);
  });

  it('misses no commit that comes while it reads', async () => {
    await start().ready;
    let extra = 3;
    source.before = (call) => {
      if (call === 'since' && extra-- > 0) queueMicrotask(() => source.write(record(`late${extra}.ns.v1`)));
    };
    source.write(record('a.ns.v1'));
    await until(() => extra <= 0 && caughtUp());
    assertSame();
  });

  const STALE: readonly (readonly [what: string, change: () => void])[] = [
    ['older than the log', () => source.prune(5)],
    ['newer than the log', () => source.restore(2)],
    ['lost', () => void view.clear()],
  ];
  for (const [what, change] of STALE) {
    it(`makes the view anew when its cursor is ${what}`, async () => {
      source.write(namespace('ns'), record('a.ns.v1'), record('b.ns.v1'));
      await start().ready;
      await follower?.stop();
      source.write(erased('a.ns.v1'), record('c.ns.v1'), record('d.ns.v1'));
      change();
      states = [];
      const { snapshot } = source.calls;
      await start().ready;
      assertSame();
      assert.ok(source.calls.snapshot > snapshot);
      assert.equal(states.at(-1), 'following');
    });
  }

  it('resumes from the oldest change that the log still holds', async () => {
    source.write(namespace('ns'), record('a.ns.v1'));
    await start().ready;
    await follower?.stop();
    const { snapshot } = source.calls;
    source.write(record('b.ns.v1'));
    source.prune(2);
    await start().ready;
    assertSame();
    assert.equal(source.calls.snapshot, snapshot);
  });

  it('makes the view anew when the source is restored while it runs', async () => {
    source.write(namespace('ns'), record('a.ns.v1'), record('b.ns.v1'));
    await start({ pollMs: 5 }).ready;
    source.restore(1);
    await until(caughtUp);
    assertSame();
  });

  it('makes the view anew when the changes have a gap', async () => {
    await start().ready;
    source.bend = (changes) => {
      source.bend = (same) => same;
      return changes.slice(1);
    };
    source.write(record('a.ns.v1'), record('b.ns.v1'));
    await until(caughtUp);
    assertSame();
    assert.deepEqual(errors, []);
    assert.ok(states.includes('rebuilding'));
  });

  it('passes over changes that come twice', async () => {
    await start().ready;
    source.write(record('a.ns.v1', 'old'));
    await until(caughtUp);
    const all = await source.since(0, 10);
    source.bend = (changes) => [...all, ...changes.filter(({ seq }) => seq > all.length)];
    source.write(record('a.ns.v1', 'new'));
    await until(caughtUp);
    assertSame();
    assert.deepEqual(applied, [1, 2]);
    assert.deepEqual(errors, []);
  });

  it('does not turn in circles when a source gives only old changes', async () => {
    await start({ batch: 1 }).ready;
    source.write(record('a.ns.v1'));
    await until(caughtUp);
    const all = await source.since(0, 1);
    source.bend = () => all;
    for (const listener of source.listeners) listener();
    await nextTurn();
    await follower?.stop();
    assertSame();
  });

  for (const call of ['bounds', 'since', 'snapshot'] as const) {
    it(`goes on after a source that fails at ${call}`, async () => {
      source.write(namespace('ns'), record('a.ns.v1'), record('b.ns.v1'));
      let faults = 2;
      source.before = (at, page) => {
        if (at === call && (call !== 'snapshot' || page === 1) && faults-- > 0) throw new Error('source');
      };
      await start().ready;
      assertSame();
      assert.equal(errors.length, 2);
      assert.ok(states.includes('failing'));
      assert.equal(states.at(-1), 'following');
    });
  }

  for (const call of ['clear', 'load', 'apply'] as const) {
    it(`goes on after a view that fails at ${call}`, async () => {
      source.write(namespace('ns'), record('a.ns.v1'), record('b.ns.v1'));
      const good = view[call] as (...args: unknown[]) => Promise<void>;
      let faults = 2;
      const failing: ViewWriter = {
        ...view,
        [call]: async (...args: unknown[]) => {
          if (faults-- > 0) throw new Error('view');
          return good(...args);
        },
      };
      await start({ view: failing }).ready;
      assertSame();
      assert.equal(errors.length, 2);
      assert.equal(view.cursor(), 3);
    });
  }

  it('believes the view when a commit failed and was made all the same', async () => {
    await start().ready;
    const { apply } = view;
    view.apply = async (changes, cursor) => {
      view.apply = apply;
      await apply(changes, cursor);
      throw new Error('the answer was lost');
    };
    source.write(record('a.ns.v1'));
    await until(() => states.at(-1) === 'failing');
    await until(() => states.at(-1) === 'following');
    assertSame();
    assert.equal(errors.length, 1);
  });

  it('tells how far behind it is', async () => {
    await start().ready;
    assert.deepEqual(follower?.lag(), { seq: 0, seconds: 0 });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { apply } = view;
    view.apply = async (changes, cursor) => {
      await held;
      view.apply = apply;
      return apply(changes, cursor);
    };
    // Made at 1,000 and 2,000 milliseconds, as the fake source has it.
    source.write(record('a.ns.v1'), record('b.ns.v1'));
    await until(() => follower?.lag().seq === 2);
    assert.deepEqual(follower?.lag(), { seq: 2, seconds: 49 });
    now = 60_000;
    assert.equal(follower?.lag().seconds, 59);
    release();
    await until(() => follower?.lag().seconds === 0);
    assert.deepEqual(follower?.lag(), { seq: 0, seconds: 0 });
  });

  it('stops at once: while it sleeps, in a rebuild, and while it waits to try again', async () => {
    await start().ready;
    await follower?.stop();
    assert.equal(source.listeners.size, 0);

    await view.clear();
    source.write(namespace('ns'), record('a.ns.v1'), record('b.ns.v1'), record('c.ns.v1'));
    source.before = (call) => {
      if (call === 'snapshot') void follower?.stop();
    };
    const { ready } = start();
    await assert.rejects(ready, /stopped/);
    assert.equal(view.cursor(), null);

    source.before = () => {
      throw new Error('source');
    };
    start();
    await until(() => states.at(-1) === 'failing');
    await follower?.stop();
  });

  it('ends with its signal', async () => {
    const ending = new AbortController();
    await start({ signal: ending.signal }).ready;
    ending.abort();
    await follower?.stop();
    assert.equal(source.listeners.size, 0);
    await assert.rejects(start({ signal: AbortSignal.abort() }).ready, /stopped/);
  });

  it('brings the view to the present state, whatever is written between the pages of a snapshot', async () => {
    const key = fc.constantFrom('a.ns.v1', 'b.ns.v1', 'c.ns.v1', 'd.other.v1', 'e.other.v1');
    const name = fc.constantFrom('ns', 'other');
    const digest = fc.constantFrom('1'.repeat(64), '2'.repeat(64));
    const body: fc.Arbitrary<ChangeBody> = fc.oneof(
      fc.tuple(key, fc.string()).map((of) => record(...of)),
      key.map(erased),
      name.map(namespace),
      name.map((at): ChangeBody => ({ type: 'namespace.deleted', namespace: at, id: at })),
      fc
        .tuple(name, digest)
        .map(([at, d]): ChangeBody => ({ type: 'token.minted', namespace: at, digest: d, expiresAt: 1 })),
      fc
        .tuple(name, digest)
        .map(([at, d]): ChangeBody => ({ type: 'token.revoked', namespace: at, digest: d })),
    );
    const bodies = fc.array(body, { maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.array(bodies, { maxLength: 12 }),
        fc.integer({ min: 1, max: 3 }),
        async (first, later, batch) => {
          const busy = createFakeSource(1);
          const target = createMemoryView();
          busy.write(...first);
          const queue = [...later];
          busy.before = () => busy.write(...(queue.shift() ?? []));
          const one = startFollower({ source: busy, view: target, clock: () => 0, pollMs: 1, batch });
          await one.ready;
          while (queue.length > 0 || target.state.cursor !== busy.state().cursor) await nextTurn();
          await one.stop();
          assert.deepEqual(target.state, busy.state());
        },
      ),
      { numRuns: 200 },
    );
  });
});
