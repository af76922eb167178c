import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Clock } from '../../../src/base/time.ts';
import type { ChangeSource, Snapshot } from '../../../src/feed/ports/change-source.ts';
import type { ChangeBody } from '../../../src/protocol/change.ts';
import { createMemoryView, type MemoryState } from '../view/memory-view.ts';
import { changesAfter } from './changes-after.ts';

/** A source with the means to change what it gives. */
export interface SourceWorld {
  readonly source: ChangeSource;
  /** Commits the changes together, each with the next `seq`. */
  write(...bodies: readonly ChangeBody[]): Promise<void>;
  /** Removes the changes up to `seq` from the log. */
  prune(seq: number): Promise<void>;
  /** Gives the log another epoch, and commits the changes after it. @returns the epoch */
  renew(...bodies: readonly ChangeBody[]): Promise<string>;
  /** Of a source that answers from a copy: its origin is heard of again. Answers themselves prove nothing there. */
  contact?(): Promise<void>;
  /** From here on the source cannot be reached. */
  cut(): Promise<void>;
  close(): Promise<void>;
}

const NAMESPACE: ChangeBody = {
  type: 'namespace.upserted',
  namespace: 'acme',
  id: '7d6f3c3e-3f0b-4c1e-8f3c-0d7f8a1b2c3d',
  publicRead: true,
  suspended: false,
  recordsCount: 0,
  createdAt: 0,
  updatedAt: 0,
};
const TOKEN = { namespace: 'acme', digest: 'ab'.repeat(32) } as const;
const MINTED: ChangeBody = { type: 'token.minted', ...TOKEN, expiresAt: 9_000_000 };
const REVOKED: ChangeBody = { type: 'token.revoked', ...TOKEN };

/** @param key first label of the record's key */
function record(key: string, text = key): ChangeBody {
  const labels = { resource: 'doc', namespace: 'acme', version: 'v1' } as const;
  const data = Buffer.from(text).toString('base64');
  const rest = { contentType: 'text/plain', ttlSeconds: 300, expiresAt: null };
  return { type: 'record.upserted', key: `${key}.doc.acme.v1`, ...labels, data, ...rest };
}

function deleted(key: string): ChangeBody {
  return { type: 'record.deleted', key: `${key}.doc.acme.v1`, namespace: 'acme' };
}

/**
 * What every ChangeSource must do.
 *
 * @param create makes an empty source that reads the time from `clock`; called once for each test
 * @param skip why the source cannot be tested here, or null
 */
export function changeSourceSuite(
  name: string,
  create: (clock: Clock) => Promise<SourceWorld>,
  skip: string | null = null,
): void {
  describe(`change source: ${name}`, { skip: skip ?? false }, () => {
    let now = 1_000;
    const scenario = (title: string, run: (world: SourceWorld) => Promise<void>): void => {
      it(title, async () => {
        now = 1_000;
        const world = await create(() => now);
        try {
          await run(world);
        } finally {
          await world.close();
        }
      });
    };

    scenario('an empty log: nothing to read, and a snapshot without pages', async ({ source }) => {
      const { epoch, ...ends } = await source.bounds();
      assert.notEqual(epoch, '');
      assert.deepEqual(ends, { oldest: 1, head: 0 });
      assert.deepEqual(await source.since(epoch, 0, 10), []);
      const snapshot = await source.openSnapshot();
      assert.deepEqual([snapshot.epoch, snapshot.seq], [epoch, 0]);
      assert.deepEqual(await bodiesOf(snapshot.pages), []);
    });

    scenario('since gives what was written after the cursor, in order, up to the limit', async (world) => {
      const bodies = [NAMESPACE, record('a'), MINTED, REVOKED, deleted('a')];
      await world.write(...bodies.slice(0, 2));
      await world.write(...bodies.slice(2));
      const { epoch } = await world.source.bounds();
      const changes = await world.source.since(epoch, 0, 10);
      assert.equal(changes.length, bodies.length);
      assert.partialDeepStrictEqual(
        changes,
        bodies.map((body, index) => ({ ...body, seq: index + 1 })),
      );
      const seqs = async (seq: number, limit: number): Promise<number[]> =>
        (await world.source.since(epoch, seq, limit)).map((change) => change.seq);
      assert.deepEqual(await seqs(1, 2), [2, 3]);
      assert.deepEqual(await seqs(3, 10), [4, 5]);
      assert.deepEqual(await seqs(5, 10), []);
    });

    scenario('nothing follows a change in the log of another epoch, whatever its number', async (world) => {
      // What this process commits need not be read again while somebody listens.
      const stop = world.source.onChange(() => {});
      await world.write(NAMESPACE, record('a'));
      const { epoch } = await world.source.bounds();
      const next = await world.renew(record('b'));
      assert.deepEqual(await world.source.since(epoch, 2, 10), []);
      assert.deepEqual(await world.source.since(epoch, 0, 10), []);
      assert.equal((await world.source.bounds()).epoch, next);
      assert.deepEqual(
        (await world.source.since(next, 1, 10)).map((change) => change.seq),
        [2, 3],
      );
      stop();
    });

    scenario('bounds follow a pruned log, also when nothing is left of it', async (world) => {
      await world.write(NAMESPACE, record('a'), record('b'));
      const { epoch } = await world.source.bounds();
      await world.prune(2);
      assert.deepEqual(await world.source.bounds(), { epoch, oldest: 3, head: 3 });
      const [left, ...more] = await world.source.since(epoch, 0, 10);
      assert.deepEqual([left?.seq, more], [3, []]);
      await world.prune(3);
      assert.deepEqual(await world.source.bounds(), { epoch, oldest: 4, head: 3 });
      await world.write(deleted('a'));
      assert.deepEqual(await world.source.bounds(), { epoch, oldest: 4, head: 4 });
    });

    scenario('a snapshot has namespaces first, then tokens, then records', async (world) => {
      await world.write(NAMESPACE, record('a'), record('b'), MINTED, deleted('b'));
      const { pages, seq } = await world.source.openSnapshot();
      const types = (await bodiesOf(pages)).map((body) => body.type);
      assert.deepEqual(types, ['namespace.upserted', 'token.minted', 'record.upserted']);
      assert.equal(seq, 5);
    });

    scenario('the end of a snapshot is that of the log when its pages were read', async (world) => {
      await world.write(NAMESPACE, record('a'));
      const { epoch, pages, end } = await world.source.openSnapshot();
      await bodiesOf(pages);
      await world.write(record('b'), deleted('a'));
      assert.partialDeepStrictEqual(await end(), { epoch, head: 4 });
    });

    scenario(
      'a snapshot and the changes after it make the view that all changes make, while writes go on',
      async (world) => {
        const many = Array.from({ length: 501 }, (_, index) => record(`k${index}`));
        await world.write(NAMESPACE, MINTED, ...many);
        const whole = createMemoryView();
        const before = await changesAfter(world.source, 0, 1_000);
        const { epoch, seq, pages } = await world.source.openSnapshot();
        const view = createMemoryView();
        const rebuild = await view.rebuild();
        let isFirst = true;
        for await (const page of pages) {
          await rebuild.load(page);
          if (isFirst) await world.write(deleted('k1'), record('k2', 'changed'), record('late'), REVOKED);
          isFirst = false;
        }
        const after = await world.source.since(epoch, seq, 1_000);
        assert.equal(after.length, 4);
        const head = after.at(-1)?.seq ?? 0;
        await rebuild.finish(after, head, epoch);
        await whole.apply([...before, ...after], head);
        assert.deepEqual(contents(view.state), contents(whole.state));
        assert.equal(view.state.records.size, 501);
        assert.equal(view.state.tokens.size, 0);
      },
    );

    scenario('a write calls every listener with its last seq until the listener stops', async (world) => {
      const stopped: number[] = [];
      const stop = world.source.onChange((seq) => stopped.push(seq));
      const heard = callsOf(world.source);
      await world.write(NAMESPACE, record('a'));
      await heard.until(2);
      assert.ok(stopped.includes(2));
      stop();
      const length = stopped.length;
      await world.write(record('b'));
      await heard.until(3);
      assert.equal(stopped.length, length);
      heard.stop();
    });

    scenario('heardAt is the time of the last answer, null before the first', async (world) => {
      const { source } = world;
      assert.equal(source.heardAt(), null);
      await world.write(NAMESPACE);
      assert.equal(source.heardAt(), null);
      const { epoch } = await source.bounds();
      const answers: (() => Promise<unknown>)[] = [
        () => source.bounds(),
        () => source.since(epoch, 0, 1),
        () => source.openSnapshot(),
        async () => bodiesOf((await source.openSnapshot()).pages),
      ];
      for (const answer of answers) {
        now += 7;
        await answer();
        await world.contact?.();
        assert.equal(source.heardAt(), now);
      }
      const { pages } = await source.openSnapshot();
      now += 7;
      await bodiesOf(pages);
      assert.equal(source.heardAt(), now, 'a page of the snapshot is an answer');
    });

    scenario('calls reject when the source cannot be reached, and heardAt stays', async (world) => {
      const { source } = world;
      await world.write(NAMESPACE);
      const { epoch, pages } = await source.openSnapshot();
      await world.cut();
      now += 7;
      await assert.rejects(source.bounds());
      await assert.rejects(source.since(epoch, 0, 1));
      await assert.rejects(source.openSnapshot());
      await assert.rejects(bodiesOf(pages));
      assert.equal(source.heardAt(), 1_000);
    });
  });
}

async function bodiesOf(pages: Snapshot['pages']): Promise<ChangeBody[]> {
  const bodies: ChangeBody[] = [];
  for await (const page of pages) bodies.push(...page);
  return bodies;
}

function contents({ namespaces, tokens, records }: MemoryState) {
  return { namespaces, tokens, records };
}

/** Listens; `until` resolves when a call with this `seq` has come. */
function callsOf(source: ChangeSource) {
  const heard = new Set<number>();
  let wake = (): void => {};
  const stop = source.onChange((seq) => {
    heard.add(seq);
    wake();
  });
  async function until(seq: number): Promise<void> {
    while (!heard.has(seq)) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return { until, stop };
}
