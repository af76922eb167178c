import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ENVELOPE_VERSION } from '../../../src/base/brand.ts';
import { RCODE } from '../../../src/protocol/dns/codes.ts';
import { startTxtServer, type TxtAnswer } from '../../../test/support/cli/txt-server.ts';
import { NotFound, Refused, Unavailable } from './errors.ts';
import { Reader, type ReaderOptions, type ReadOptions } from './reader.ts';

const FOUND = [`v=${ENVELOPE_VERSION};s=ok;e=b64;d=aGVsbG8=`];
const { SERVFAIL, REFUSED, NXDOMAIN } = RCODE;

/** Name servers of which each answers its nth question with its nth answer, then with the last. */
async function servers(t: TestContext, ...scripts: readonly (readonly TxtAnswer[])[]) {
  /** Which server was asked, in order. */
  const asked: number[] = [];
  const addresses = await Promise.all(
    scripts.map(async (script, index) => {
      const server = await startTxtServer(() => {
        asked.push(index);
        const before = asked.filter((other) => other === index).length - 1;
        return script[Math.min(before, script.length - 1)] ?? null;
      });
      t.after(() => server.close());
      return `127.0.0.1:${server.port}`;
    }),
  );
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(Math, 'random', () => 0);
  return {
    asked,
    readerOf: (options: Partial<ReaderOptions> = {}) =>
      new Reader({ ...options, servers: addresses } as ReaderOptions),
    /** Waits for so many questions, then lets time pass. */
    after: async (count: number, milliseconds: number): Promise<void> => {
      while (asked.length < count) await nextTurn();
      t.mock.timers.tick(milliseconds);
    },
    /** Lets time pass, a millisecond in each turn of the event loop, until there are so many questions. */
    until: async (count: number): Promise<void> => {
      while (asked.length < count) {
        t.mock.timers.tick(1);
        await nextTurn();
      }
    },
  };
}
const read = async (reader: Reader, options: ReadOptions = {}): Promise<string> =>
  (await reader.text('a.b.acme.v1', options)).data;

describe('reads of DNS servers whose packets are lost', () => {
  for (const [name, options, own, share] of [
    ['a third of the timeout', {}, {}, 1667],
    ['its share of other options', { timeout: 6000, retries: 3 }, {}, 1500],
    ["its share of the read's own timeout", {}, { timeout: 3000 }, 1000],
    ['half a second at least', { timeout: 2000, retries: 9 }, {}, 500],
  ] as const) {
    it(`one lost packet does not fail a read: it is asked again after ${name}`, async (t) => {
      const { asked, readerOf, after, until } = await servers(t, [null, FOUND]);
      const reading = read(readerOf(options), own);
      await after(1, share - 2);
      await nextTurn();
      assert.equal(asked.length, 1);
      await until(2);
      assert.equal(await reading, 'hello');
    });
  }

  it('a second server is asked within the first attempt, and first by the next read', async (t) => {
    const { asked, readerOf, after, until } = await servers(t, [null], [FOUND]);
    const reader = readerOf();
    const reading = read(reader);
    await after(1, 831);
    await nextTurn();
    assert.deepEqual(asked, [0]);
    await until(2);
    assert.equal(await reading, 'hello');
    assert.equal(await read(reader), 'hello');
    assert.deepEqual(asked, [0, 1, 1]);
  });

  it('each attempt asks every server once, and the read fails when all are lost', async (t) => {
    const { asked, readerOf, until } = await servers(t, [null], [null]);
    const reading = read(readerOf()).catch((error: unknown) => error);
    await until(6);
    t.mock.timers.tick(5000);
    const error = await reading;
    assert.ok(error instanceof Unavailable && error.reason === 'timeout');
    assert.deepEqual(asked, [0, 1, 0, 1, 0, 1]);
  });

  it('an abort ends a read with its reason', async (t) => {
    const { asked, readerOf, after } = await servers(t, [null], [FOUND]);
    const ending = new AbortController();
    const reading = read(readerOf(), { signal: ending.signal });
    await after(1, 0);
    const reason = new Error('enough');
    ending.abort(reason);
    await assert.rejects(reading, reason);
    assert.deepEqual(asked, [0]);
  });
});

describe('of two servers', () => {
  for (const [name, first, second, result, order] of [
    ['the second answers after SERVFAIL', SERVFAIL, FOUND, 'hello', [0, 1]],
    ['the second answers after REFUSED', REFUSED, FOUND, 'hello', [0, 1]],
    ['a refusal counts more than a failure after it', REFUSED, SERVFAIL, Refused, [0, 1]],
    ['a refusal counts more than a failure before it', SERVFAIL, REFUSED, Refused, [0, 1]],
    ['the second is not asked for what is not there', NXDOMAIN, FOUND, NotFound, [0]],
  ] as const) {
    it(name, async (t) => {
      const { asked, readerOf } = await servers(t, [first], [second]);
      const reading = read(readerOf({ retries: 0 }));
      if (typeof result === 'string') assert.equal(await reading, result);
      else await assert.rejects(reading, result);
      assert.deepEqual(asked, order);
    });
  }

  it('a wrong address is an error, also behind one that answers', async () => {
    const reader = new Reader({ servers: ['127.0.0.1:1', 'localhost'] });
    await assert.rejects(reader.text('a.b.acme.v1'), { code: 'ERR_INVALID_IP_ADDRESS' });
  });
});
