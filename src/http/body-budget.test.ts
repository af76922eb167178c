import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createManualTimers, type ManualTimers } from '../../test/support/base/lifecycle/manual-timers.ts';
import { AppError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { type BodyBudget, createBodyBudget, type HeldBody } from './body-budget.ts';

const BULK = LIMITS.bulkBody;

interface Asked {
  /** Null while it waits. */
  body: HeldBody | null;
  error: AppError | null;
  isDropped: boolean;
}

interface Rig {
  readonly timers: ManualTimers;
  readonly budget: BodyBudget;
  /** What was freed. */
  readonly freed: readonly string[];
  /** Asks for room, and lets the answer come. */
  readonly ask: (person: string, octets?: number) => Promise<Asked>;
}

function openRig(): Rig {
  const timers = createManualTimers();
  const freed: string[] = [];
  const budget = createBodyBudget({ timers, freeMemory: (what) => freed.push(what) });
  return {
    timers,
    budget,
    freed,
    async ask(person, octets = BULK) {
      const asked: Asked = { body: null, error: null, isDropped: false };
      const drop = (error: AppError): void => {
        assert.equal(error.code, 'rate_limit_exceeded');
        asked.isDropped = true;
      };
      Promise.resolve(budget.enter(person, octets, drop)).then(
        (body) => {
          asked.body = body;
        },
        (error: AppError) => {
          asked.error = error;
        },
      );
      await timers.advance(0);
      return asked;
    },
  };
}

/** What became of a turn: null while it waits. */
function turnOf(body: HeldBody | null): { result: 'working' | AppError | null } {
  const turn: { result: 'working' | AppError | null } = { result: null };
  body!.turn().then(
    () => {
      turn.result = 'working';
    },
    (error: AppError) => {
      turn.result = error;
    },
  );
  return turn;
}

function assertTooMany(error: unknown): void {
  assert.ok(error instanceof AppError);
  assert.deepEqual([error.code, error.retryAfter], ['rate_limit_exceeded', 10]);
}

describe('the budget of bodies', () => {
  test('a person holds 8 MiB, and what is above waits unread until one has left', async () => {
    const { ask, timers } = openRig();
    const first = await ask('a');
    const second = await ask('a');
    assert.ok(first.body !== null && second.body !== null);
    const third = await ask('a', 1);
    assert.equal(third.body, null);
    assert.ok((await ask('b')).body !== null);
    first.body.leave();
    first.body.leave();
    await timers.advance(0);
    assert.ok(third.body !== null);
  });

  test('16 bodies of a person wait; the next one, and one that has waited for 10 s, are refused', async () => {
    const { ask, timers } = openRig();
    const held = [await ask('a'), await ask('a')];
    const waiting: Asked[] = [];
    for (let i = 0; i < LIMITS.bodiesWaiting; i++) waiting.push(await ask('a'));
    const next = await ask('a');
    assertTooMany(next.error);
    await timers.advance(LIMITS.bodyWaitMs - 1);
    assert.ok(waiting.every(({ body, error }) => body === null && error === null));
    held[0]!.body!.leave();
    await timers.advance(0);
    assert.ok(waiting[0]!.body !== null);
    await timers.advance(1);
    assert.ok(waiting.slice(1).every(({ error }) => error?.retryAfter === 10));
    // The places of those are free again.
    held[1]!.body!.leave();
    assert.ok((await ask('a')).body !== null);
  });

  test('four persons hold 240 bodies of 4 MB: 32 MiB are held, and 64 wait', async () => {
    const { ask } = openRig();
    const all: Asked[] = [];
    for (let i = 0; i < 240; i++) all.push(await ask(`person ${i % 4}`));
    assert.equal(all.filter(({ body }) => body !== null).length, 8);
    assert.equal(all.filter(({ body, error }) => body === null && error === null).length, 64);
  });

  test('one bulk write of a person is at work, and four of all; the others wait for their turn', async () => {
    const { ask, timers } = openRig();
    const loaders: Asked[] = [];
    for (let i = 0; i < 4; i++) loaders.push(await ask('a', 1000));
    const turns = loaders.map(({ body }) => turnOf(body));
    await timers.advance(0);
    assert.deepEqual(
      turns.map(({ result }) => result),
      ['working', null, null, null],
    );
    const others = await Promise.all(['b', 'c', 'd', 'e'].map((person) => ask(person, 1000)));
    const theirs = others.map(({ body }) => turnOf(body));
    await timers.advance(0);
    assert.deepEqual(
      theirs.map(({ result }) => result),
      ['working', 'working', 'working', null],
    );
    // In the order in which they came, of those who may.
    loaders[0]!.body!.leave();
    await timers.advance(0);
    assert.deepEqual([turns[1]!.result, theirs[3]!.result], ['working', null]);
    loaders[1]!.body!.leave();
    await timers.advance(0);
    assert.equal(turns[2]!.result, 'working');
    await timers.advance(LIMITS.bodyWaitMs);
    assertTooMany(turns[3]!.result);
    assertTooMany(theirs[3]!.result);
  });

  test('a process holds 64 MiB; bodies that come too slowly to end give way to a person who holds less', async () => {
    const { ask, timers } = openRig();
    const fast: Asked[] = [];
    const slow: Asked[] = [];
    for (let i = 0; i < 8; i++) {
      fast.push(await ask(`person ${i}`));
      slow.push(await ask(`person ${i}`));
    }
    const small = await ask('newcomer', 200);
    const large = await ask('newcomer');
    assert.ok(small.body === null && large.body === null);
    for (let look = 0; look < 3; look++) {
      for (const { body } of fast) body!.received(200_000);
      for (const { body, isDropped } of slow) if (!isDropped) body!.received(2);
      await timers.advance(1000);
    }
    assert.ok(small.body !== null && large.body !== null);
    assert.ok(fast.every(({ isDropped }) => !isDropped));
    assert.equal(slow.filter(({ isDropped }) => isDropped).length, 2);
  });

  test('bodies give way at the second look of the one that waits, whatever was seen before it came', async () => {
    const { ask, timers } = openRig();
    for (let i = 0; i < 16; i++) await ask(`person ${i}`);
    const first = await ask('first', BULK);
    await timers.advance(1999);
    assert.equal(first.body, null);
    const second = await ask('second', BULK);
    await timers.advance(1);
    assert.ok(first.body !== null && second.body === null);
    await timers.advance(999);
    assert.equal(second.body, null);
    await timers.advance(1);
    assert.ok(second.body !== null);
  });

  test('nobody gives way to a person who holds more, nor while bodies come at their pace', async () => {
    const { ask, timers } = openRig();
    const heavy = [await ask('heavy'), await ask('heavy', BULK - 1000)];
    const others: Asked[] = [];
    for (let i = 0; i < 14; i++) others.push(await ask(`person ${i}`));
    // No room for itself: it waits for its own bodies.
    const third = await ask('heavy', 2000);
    const newcomer = await ask('newcomer');
    for (let look = 0; look < 9; look++) {
      for (const { body } of [...heavy, ...others]) body!.received(Math.ceil(BULK / 30));
      await timers.advance(1000);
    }
    assert.ok(third.body === null && newcomer.body === null);
    await timers.advance(1000);
    assertTooMany(newcomer.error);
    assert.ok([...heavy, ...others].every(({ isDropped }) => !isDropped));
  });

  test('a body that has given way gets no turn, and its octets are free', async () => {
    const { ask, timers } = openRig();
    const held: Asked[] = [];
    for (let i = 0; i < 16; i++) held.push(await ask(`person ${i}`));
    const newcomer = await ask('newcomer', 10);
    await timers.advance(3000);
    assert.ok(newcomer.body !== null);
    const [dropped] = held.filter(({ isDropped }) => isDropped);
    await assert.rejects(dropped!.body!.turn(), AppError);
    dropped!.body!.leave();
    assert.ok((await ask('another', BULK - 10)).body !== null);
    assert.equal((await ask('another', 1)).body, null);
  });

  test('garbage is collected for each 8 MiB that came, and all of it once, five seconds after the last of many octets', async () => {
    const { ask, budget, timers, freed } = openRig();
    const pass = async (): Promise<void> => {
      const { body } = await ask('a');
      body!.received(BULK);
      body!.leave();
    };
    await pass();
    assert.deepEqual(freed, []);
    await pass();
    assert.deepEqual(freed, ['young']);
    await pass();
    await timers.advance(60_000);
    assert.deepEqual(freed, ['young']);
    budget.discarded(BULK);
    await timers.advance(4999);
    await pass();
    await timers.advance(5000);
    assert.deepEqual(freed, ['young', 'young']);
    await timers.advance(5001);
    assert.deepEqual(freed, ['young', 'young', 'all']);
    await timers.advance(60_000);
    assert.equal(freed.length, 3);
  });
});
