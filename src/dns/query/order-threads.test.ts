import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ReaderThread,
  STEPS,
  startReaderThread,
} from '../../../test/support/dns/query/reader-thread.ts';
import { START } from '../../../test/support/dns/query/signed-node.ts';
import { createFakeSource, type FakeSource } from '../../../test/support/feed/fake-source.ts';
import {
  deleted,
  minted,
  namespaceDeleted,
  namespaceUpserted,
  revoked,
  upserted,
} from '../../../test/support/view/view-changes.ts';
import { type Follower, startFollower } from '../../feed/follower/follower.ts';
import type { ChangeBody } from '../../protocol/change.ts';
import { spellQueryToken } from '../../protocol/query/query-token.ts';
import { announcedApply, createFreshness } from '../../view/freshness.ts';
import { type LmdbViewWriter, openLmdbWriter } from '../../view/writer.ts';

/** Words of the freshness memory from here on are counters of names. */
const FIRST_NAME = 16;
const NEVER_MS = 600_000;
const [NODATA, REFUSED] = ['0', '5'];

/** What a test has for itself: a namespace with a record and a token. */
interface Own {
  readonly namespace: string;
  readonly key: string;
  readonly token: string;
}

/** What a test has asked for, and what it was answered. */
interface Prepared {
  readonly own: Own;
  readonly name: string;
  readonly before: string | RegExp;
}

const textOf = ({ key }: Pick<Own, 'key'>, text: string): ChangeBody =>
  upserted(key, text, { encoding: 'plain' });

/** Who may read before a change: all, who shows the token, or not even they, because it is not minted yet. */
type Readers = 'all' | 'token' | 'nobody';

/** Each change of a namespace, its readers before, and what is answered once the change is announced. */
const CHANGES: readonly (readonly [
  what: string,
  readers: Readers,
  after: string | RegExp,
  change: (own: Own) => readonly ChangeBody[],
])[] = [
  ['a record is replaced', 'all', /new/, (own) => [textOf(own, 'new')]],
  ['a record is deleted', 'all', NODATA, ({ key }) => [deleted(key)]],
  ['a private record is replaced', 'token', /new/, (own) => [textOf(own, 'new')]],
  ['a namespace is closed to strangers', 'all', REFUSED, (own) => [namespaceUpserted(own.namespace, false)]],
  ['a namespace is suspended', 'token', REFUSED, (own) => [namespaceUpserted(own.namespace, false, true)]],
  ['a token is revoked', 'token', REFUSED, ({ namespace, token }) => [revoked(namespace, token)]],
  ['a namespace is deleted', 'token', REFUSED, (own) => [deleted(own.key), namespaceDeleted(own.namespace)]],
  ['a token is minted', 'nobody', /old/, (own) => [mintedOf(own)]],
  ['a namespace is opened', 'nobody', /old/, (own) => [namespaceUpserted(own.namespace, true)]],
];

const mintedOf = ({ namespace, token }: Own): ChangeBody => minted(namespace, token, START + 1e9);

function matches(answer: string, expected: string | RegExp): boolean {
  return typeof expected === 'string' ? answer === expected : expected.test(answer);
}

describe('an answer of another thread, while the view changes', () => {
  let directory: string;
  let source: FakeSource;
  let writer: LmdbViewWriter;
  let follower: Follower;
  let thread: ReaderThread;
  let now = START;
  /** Called before each step of the thread that writes: its commit, and each word of the freshness memory. */
  let between = (_word: number): void => {};

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'order-threads-'));
    source = createFakeSource();
    source.write(namespaceUpserted('first'));
    const freshness = createFreshness();
    const path = join(directory, 'view');
    writer = openLmdbWriter({ path, freshness, wipeAfterMs: 0 });
    const stepwise: Pick<LmdbViewWriter, 'apply'> = {
      async apply(changes, cursor) {
        between(0);
        await writer.apply(changes, cursor);
        between(0);
      },
    };
    follower = startFollower({
      source,
      view: { ...writer, apply: announcedApply(stepwise, freshness) },
      clock: () => now,
      pollMs: NEVER_MS,
    });
    await follower.ready;
    for (const step of ['add', 'store'] as const) {
      const real = Atomics[step];
      mock.method(Atomics, step, (words: Int32Array, index: number, value: number) => {
        if (words.buffer === freshness.buffer) between(index);
        return real(words, index, value);
      });
    }
    thread = await startReaderThread(path, freshness.buffer);
  });
  after(async () => {
    mock.restoreAll();
    await thread.close();
    await follower.stop();
    await writer.close();
    rmSync(directory, { recursive: true, force: true });
  });
  /** What was wrong in between: an error there would be one of the view, which the follower tries again. */
  let wrong: string[] = [];

  beforeEach(() => {
    between = () => {};
    wrong = [];
  });
  afterEach(() => assert.deepEqual(wrong, []));

  let owners = 0;

  /** @returns the namespace of a test, and the question for its record, which was answered once */
  async function prepare(readers: Readers): Promise<Prepared> {
    const namespace = `n${++owners}`;
    const token = spellQueryToken(Buffer.alloc(32, namespace));
    const own = { namespace, token, key: `a.${namespace}.v1` };
    await write([
      namespaceUpserted(namespace, readers === 'all'),
      ...(readers === 'nobody' ? [] : [mintedOf(own)]),
      textOf(own, 'old'),
    ]);
    const name = `get.${readers === 'all' ? '' : `auth-${token}.`}${own.key}.uqrp.net`;
    const before = readers === 'nobody' ? REFUSED : /old/;
    assert.ok(matches(thread.ask(name), before));
    return { own, name, before };
  }

  /** Writes to the log, and waits until the change is announced. */
  async function write(change: readonly ChangeBody[]): Promise<void> {
    source.write(...change);
    await settled();
  }

  async function settled(): Promise<void> {
    const { head } = await source.bounds();
    while (writer.cursor() !== head || follower.state() !== 'following') await nextTurn();
    // The announcement follows the commit in the same turn.
    await nextTurn();
  }

  for (const [what, readers, expected, change] of CHANGES) {
    test(`is true once it is announced that ${what}, whatever was asked between the steps of the writer`, async () => {
      const { own, name, before } = await prepare(readers);
      let asked = 0;
      between = () => {
        asked++;
        const answer = thread.ask(name);
        if (!matches(answer, before) && !matches(answer, expected)) wrong.push(answer);
      };
      await write(change(own));
      between = () => {};
      // Before and after the commit, and before each of two counters, twice.
      assert.ok(asked >= 6, `${asked} questions in between`);
      for (const _ of [1, 2, 3]) assert.ok(matches(thread.ask(name), expected), thread.ask(name));
    });

    for (const step of STEPS) {
      if ((step === 'token' && readers === 'all') || (step === 'record' && readers === 'nobody')) continue;
      test(`is void when ${what} after the thread has read: ${step}`, async () => {
        const { own, name, before } = await prepare(readers);
        assert.equal(thread.askUntil(name, step), true);
        await write(change(own));
        const late = thread.goOn();
        assert.ok(matches(late, before) || matches(late, expected), late);
        for (const _ of [1, 2, 3]) assert.ok(matches(thread.ask(name), expected), thread.ask(name));
      });
    }
  }

  const siblingsOf = ({ namespace }: Own): readonly string[] =>
    ['b', 'c', 'd', 'e', 'f', 'g'].map((label) => `${label}.${namespace}.v1`);

  /** At each step of the writer: a name that no cache has, then the one that a cache had. @returns answers from the commit */
  function askSiblings({ name, own }: Prepared): () => number {
    const siblings = siblingsOf(own).map((key) => `get.${key}.uqrp.net`);
    let [isNew, news, last] = [false, 0, 0];
    between = (word) => {
      // Around the commit, and around the count of commits: a reader that has not moved on does not see it.
      const sibling = Math.min(word, last) < FIRST_NAME ? siblings.pop() : undefined;
      last = word;
      for (const asked of sibling === undefined ? [name] : [sibling, name]) {
        const answer = thread.ask(asked);
        if (isNew && /old/.test(answer)) wrong.push(`${asked} is answered from before: ${answer}`);
        isNew ||= !/old/.test(answer);
        news += Number(isNew);
      }
    };
    return () => news;
  }

  for (const [what, change] of [
    ['records are replaced', (own) => [own.key, ...siblingsOf(own)].map((key) => textOf({ key }, 'new'))],
    ['a namespace is closed to strangers', (own) => [namespaceUpserted(own.namespace, false)]],
  ] satisfies readonly [string, (own: Own) => readonly ChangeBody[]][]) {
    test(`is never from before the commit once another answer was from it: ${what}`, async () => {
      const prepared = await prepare('all');
      await write(siblingsOf(prepared.own).map((key) => textOf({ key }, 'old')));
      for (const _ of [1, 2]) thread.ask(prepared.name);
      const news = askSiblings(prepared);
      await write(change(prepared.own));
      between = () => {};
      assert.ok(news() > 0, 'nobody asked between the commit and the end of its announcement');
    });
  }

  test('is true once another view serves, whatever was asked between the steps of its replacement', async () => {
    const { own, name } = await prepare('all');
    let asked = 0;
    between = (word) => {
      // Most of the 70,000 counters are of names that nobody asks for.
      if (++asked <= 8 || word < FIRST_NAME) thread.ask(name);
    };
    // The log no longer reaches back to the view. Later than the last comparison of the two.
    now += 2000;
    source.announcing = false;
    source.write(textOf(own, 'new'));
    const { head } = await source.bounds();
    source.prune(head);
    for (const told of source.listeners) told(head);
    await settled();
    between = () => {};
    assert.ok(asked > 8);
    for (const _ of [1, 2, 3]) assert.match(thread.ask(name), /bmV3/);
  });
});
