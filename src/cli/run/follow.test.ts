import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, ConnectionError, type ErrorCode, TimeoutError } from '../../../sdk/src/uqrp-sdk.ts';
import { InputError } from '../../base/errors.ts';
import { type Following, follow } from './follow.ts';
import type { Values } from './source.ts';

/** The values of one record, or of none. `bad` is one that no program can have. */
const valuesOf = (text: string): Values => {
  const key = 'mode.env.shop.v1';
  if (text === 'none') return { records: [], kept: [] };
  return { records: [{ key, data: Buffer.from(text) }], kept: [{ key, envelope: text }] };
};

/** What the server answers: to a wait, whether a value of ours may have changed; to a read, the values. Or why it does not. */
interface Answers {
  readonly changes: readonly (boolean | Error)[];
  readonly reads: readonly (string | Error)[];
}

/** @throws what is an error */
function given<T>(answer: T | Error): T {
  if (answer instanceof Error) throw answer;
  return answer;
}

/** What becomes of a program that runs with `one` while the server answers so. It ends in the wait after the last answer. */
async function actsOf({ changes, reads }: Answers, before: Partial<Following> = {}): Promise<string[]> {
  const acts: string[] = [];
  const ending = new AbortController();
  const [pages, texts] = [changes.values(), reads.values()];
  const named = (kept: Values['kept']): string => kept.map(({ envelope }) => envelope).join();
  await follow({
    source: {
      origin: 'https://uqrp.example.com',
      cursor: async () => 'now',
      read: async () => valuesOf(given(texts.next().value ?? new RangeError('nothing more is read'))),
      async changes(since) {
        const { done, value } = pages.next();
        if (done !== true) return { next: since, isOurs: given(value) };
        ending.abort();
        throw ending.signal.reason;
      },
    },
    copy: {
      save: (kept) => void acts.push(`save ${named(kept)}`),
      confirm: (kept) => void acts.push(`confirm ${named(kept)}`),
      remove: async () => void acts.push('remove'),
    },
    cursor: 'start',
    ...valuesOf('one'),
    signal: ending.signal,
    async take(records) {
      const text = String(records[0]?.data);
      if (text === 'bad') throw new InputError('mode is bad');
      acts.push(`take ${text}`);
    },
    say: (line) => void acts.push(line),
    pause: async () => {},
    ...before,
  });
  assert.equal(texts.next().done, true, 'every answer was read');
  return acts;
}

const BAD = 'the program keeps its values: mode is bad';
const NONE = 'the program keeps its values: there are no records any more';

describe('a program that follows its values', () => {
  for (const [what, answers, expected] of [
    ['a value of now', { changes: [false], reads: [] }, ['confirm one']],
    ['another value', { changes: [true, false], reads: ['two'] }, ['take two', 'save two', 'confirm two']],
    [
      'a write that changes no value',
      { changes: [true, false], reads: ['one'] },
      ['save one', 'confirm one'],
    ],
    [
      'another value, and back',
      { changes: [true, true, false], reads: ['two', 'one'] },
      ['take two', 'save two', 'take one', 'save one', 'confirm one'],
    ],
    [
      'a refused value that is written again',
      { changes: [true, true, false], reads: ['bad', 'bad'] },
      [BAD, BAD],
    ],
    [
      'no records, and another change of the namespace',
      { changes: [true, true, false], reads: ['none', 'none'] },
      [NONE, NONE],
    ],
    [
      'a refused value, and back',
      { changes: [true, false, true, false], reads: ['bad', 'one'] },
      [BAD, 'save one', 'confirm one'],
    ],
    [
      'a refused value, and another one',
      { changes: [true, true, false], reads: ['bad', 'two'] },
      [BAD, 'take two', 'save two', 'confirm two'],
    ],
  ] as const) {
    it(`${what}: the program and its copy have only values that were accepted (refused values in the copy)`, async () => {
      assert.deepEqual(await actsOf(answers), expected);
    });
  }

  for (const [read, expected] of [
    ['one', ['save one', 'confirm one']],
    ['two', ['take two', 'save two', 'confirm two']],
    ['bad', [BAD]],
    ['none', [NONE]],
  ] as const) {
    it(`started from its copy with one, when the server has ${read}: the copy is as good as before, or better`, async () => {
      assert.deepEqual(
        await actsOf({ changes: [false], reads: [read] }, { cursor: null, kept: null }),
        expected,
      );
    });
  }

  const answer = (status: number, code: ErrorCode): ApiError =>
    new ApiError({ status, code, messages: [code], requestId: null, retryAfter: null });
  for (const [what, error] of [
    ['a proxy answers 404', answer(404, 'unknown')],
    ['a proxy answers 400', answer(400, 'unknown')],
    ['a proxy answers 401', answer(401, 'unknown')],
    ['a proxy answers 200', answer(200, 'unknown')],
    ['the server answers 408', answer(408, 'validation_error')],
    ['the server answers 429', answer(429, 'rate_limit_exceeded')],
    ['the server answers 500', answer(500, 'server_error')],
    ['there is no answer', new ConnectionError(null)],
    ['there is no answer in time', new TimeoutError(1)],
  ] as const) {
    it(`goes on to follow when ${what} for some time (404 of a proxy)`, async () => {
      const answers = { changes: [error, error, true, false], reads: [error, error, 'two'] };
      assert.deepEqual(await actsOf(answers), ['take two', 'save two', 'confirm two']);
    });
  }

  it('keeps its values while there are too many octets, and goes on to follow', async () => {
    const tooMany = new InputError('too many octets');
    const answers = { changes: [true, false, true, false], reads: [tooMany, 'two'] };
    const told = 'the program keeps its values: too many octets';
    assert.deepEqual(await actsOf(answers), [told, 'take two', 'save two', 'confirm two']);
  });

  for (const [error, expected] of [
    [answer(401, 'authentication_error'), ['remove']],
    [answer(403, 'authorization_error'), ['remove']],
    [answer(404, 'not_found'), []],
    [answer(422, 'validation_error'), []],
  ] as const) {
    it(`follows no more when the server answers ${error.status}: whether the copy is removed`, async () => {
      const followed = { changes: [error], reads: [] };
      const acts = await actsOf(followed);
      assert.match(acts.pop() ?? '', /^changes are not followed any more: /);
      assert.deepEqual(acts, expected);
      assert.deepEqual((await actsOf({ changes: [true], reads: [error] })).slice(0, -1), expected);
    });
  }

  it('reads the values again when changes are missing', async () => {
    const answers = { changes: [answer(410, 'validation_error'), false], reads: ['two'] };
    assert.deepEqual(await actsOf(answers), ['take two', 'save two', 'confirm two']);
  });

  for (const ask of ['cursor', 'read', 'changes'] as const) {
    it(`ends with its program while the server answers nothing to ${ask} (end of a program in an outage)`, async () => {
      const ending = new AbortController();
      const acts = await actsOf(
        { changes: [], reads: [] },
        {
          cursor: ask === 'changes' ? 'start' : null,
          signal: ending.signal,
          source: {
            origin: 'https://uqrp.example.com',
            cursor: async () => 'now',
            read: async () => valuesOf('one'),
            changes: async (next) => ({ next, isOurs: false }),
            [ask]: (...args: readonly unknown[]) => {
              const signal = args.at(-1);
              assert.ok(
                signal instanceof AbortSignal,
                'the server answers nothing, and nothing ends the wait',
              );
              return new Promise((_, reject) => {
                signal.addEventListener('abort', () => reject(signal.reason));
                ending.abort();
              });
            },
          },
        },
      );
      assert.deepEqual(acts, []);
    });
  }
});
