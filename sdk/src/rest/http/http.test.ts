import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inspect } from 'node:util';
import { drop, hang, reply, type Step, scripted } from '../../../../test/support/sdk/scripted-server.ts';
import { BulkError } from '../records/records.ts';
import { Uqrp } from '../uqrp.ts';
import { ApiError, ConnectionError, TimeoutError, UqrpError } from './errors.ts';
import type { UqrpOptions } from './http.ts';

const TOKEN = 'c'.repeat(64);
const NOW = { 'retry-after': '0' };
const BUSY = reply(503, { error: 'busy', code: 'server_error' }, NOW);
const SLOW_DOWN = reply(429, { error: 'Too many requests', code: 'rate_limit_exceeded' }, NOW);
const OK = reply(200, []);

async function withServer(
  steps: readonly Step[],
  run: (uqrp: Uqrp, seen: readonly { method: string; headers: Record<string, unknown> }[]) => Promise<void>,
  options: Partial<UqrpOptions> = {},
): Promise<void> {
  await using server = await scripted(...steps);
  await run(new Uqrp({ baseUrl: server.base, token: TOKEN, ...options }), server.seen);
}

describe('calls that are repeated', () => {
  for (const [name, first] of [
    ['503', BUSY],
    ['429', SLOW_DOWN],
    ['a lost connection', drop],
    ['half an answer', halfAnswer],
  ] as const) {
    it(`a read after ${name}`, () =>
      withServer([first, OK], async (uqrp, seen) => {
        assert.deepEqual(await uqrp.namespaces.list(), []);
        assert.equal(seen.length, 2);
      }));
  }

  it('a POST, with one Idempotency-Key for the call and another for the next', () =>
    withServer([drop, BUSY, reply(201, { id: 'a' })], async (uqrp, seen) => {
      await uqrp.namespaces.create('acme');
      await uqrp.namespaces.create('acme');
      const keys = seen.map(({ headers }) => headers['idempotency-key']);
      assert.equal(keys.length, 4);
      assert.match(String(keys[0]), /^[0-9a-f-]{36}$/);
      assert.deepEqual([keys[1], keys[2]], [keys[0], keys[0]]);
      assert.notEqual(keys[3], keys[0]);
    }));

  it('a POST with the key of the caller', () =>
    withServer([reply(201, {})], async (uqrp, seen) => {
      await uqrp.namespaces.create('acme', { idempotencyKey: 'mine' });
      assert.equal(seen[0]?.headers['idempotency-key'], 'mine');
    }));

  it('a DELETE whose first answer was lost: the 404 of the second is success', () =>
    withServer([drop, reply(404, { error: 'Record not found', code: 'not_found' })], async (uqrp, seen) => {
      await uqrp.records.delete('an id');
      assert.equal(seen.length, 2);
    }));

  it('at most `retries` times', () =>
    withServer(
      [BUSY],
      async (uqrp, seen) => {
        await assert.rejects(uqrp.namespaces.list(), { status: 503 });
        assert.equal(seen.length, 4);
        await assert.rejects(uqrp.namespaces.list({ retries: 0 }), { status: 503 });
        assert.equal(seen.length, 5);
      },
      { retries: 3 },
    ));
});

describe('an attempt that gets no answer', () => {
  /** A client whose first request is on a dead connection. */
  const client = (t: TestContext): [Uqrp, RequestInit[]] => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(Math, 'random', () => 0);
    const seen: RequestInit[] = [];
    const fetch = async (_: string, init: RequestInit): Promise<Response> => {
      seen.push(init);
      if (seen.length > 1) return new Response('{}');
      return await new Promise((_, reject) => {
        init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
    };
    return [new Uqrp({ baseUrl: 'https://uqrp.example.net', token: TOKEN, fetch }), seen];
  };

  for (const [name, share, call] of [
    ['a read', 10_000, (uqrp: Uqrp) => uqrp.namespaces.list()],
    ['a POST with a key', 10_000, (uqrp: Uqrp) => uqrp.namespaces.create('acme')],
    ['a DELETE', 10_000, (uqrp: Uqrp) => uqrp.records.delete('an id')],
    ['a call with options of its own', 2000, (uqrp: Uqrp) => uqrp.me({ timeout: 4000, retries: 1 })],
    ['a call with many repetitions', 500, (uqrp: Uqrp) => uqrp.me({ timeout: 4000, retries: 99 })],
    ['a read for which the server waits', 65_000, (uqrp: Uqrp) => uqrp.changesPage({ wait: 55 })],
  ] as const) {
    it(`of ${name} is lost after its share of the timeout, and repeated: its connection may be dead`, async (t) => {
      const [uqrp, seen] = client(t);
      const calling = call(uqrp);
      await nextTurn();
      t.mock.timers.tick(share - 1);
      await nextTurn();
      assert.equal(seen.length, 1);
      t.mock.timers.tick(1);
      await nextTurn();
      t.mock.timers.tick(0);
      await calling;
      assert.equal(seen.length, 2);
      assert.deepEqual(seen[1]?.headers, seen[0]?.headers);
    });
  }

  it('of a PATCH has all of the timeout: it is not repeated', async (t) => {
    const [uqrp, seen] = client(t);
    const calling = uqrp.namespaces.update('an id', { max_ttl: 60 });
    calling.catch(() => {});
    await nextTurn();
    t.mock.timers.tick(20_000);
    await nextTurn();
    t.mock.timers.tick(10_000);
    await assert.rejects(calling, new TimeoutError(30_000));
    assert.equal(seen.length, 1);
  });
});

describe('an answer whose body comes slowly', () => {
  /** A client whose answers begin at once. `finish` ends their bodies; `advance` moves both of its clocks. */
  const client = (t: TestContext, status: number) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const advance = async (ms: number): Promise<void> => {
      now += ms;
      t.mock.timers.tick(ms);
      await nextTurn();
    };
    const seen: RequestInit[] = [];
    const finish: (() => void)[] = [];
    const fetch = async (_: string, init: RequestInit): Promise<Response> => {
      seen.push(init);
      const body = new ReadableStream({
        start(controller) {
          init.signal?.addEventListener('abort', () => controller.error(new Error('aborted')));
          finish.push(() => {
            controller.enqueue(new TextEncoder().encode('{"id":"a"}'));
            controller.close();
          });
        },
      });
      return new Response(body, { status });
    };
    const uqrp = new Uqrp({ baseUrl: 'https://uqrp.example.net', token: TOKEN, fetch });
    return { uqrp, seen, finish, advance };
  };

  for (const status of [200, 400]) {
    it(`has all that is left of the timeout, with ${status}: an attempt anew would take as long`, async (t) => {
      const { uqrp, seen, finish, advance } = client(t, status);
      const calling = uqrp.me();
      calling.catch(() => {});
      await nextTurn();
      for (let second = 0; second < 29; second++) await advance(1000);
      finish[0]?.();
      if (status === 200) assert.deepEqual(await calling, { id: 'a' });
      else await assert.rejects(calling, { status });
      assert.equal(seen.length, 1);
    });
  }

  it('ends with the timeout', async (t) => {
    const { uqrp, seen, advance } = client(t, 200);
    const ended = assert.rejects(uqrp.me(), new TimeoutError(30_000));
    await nextTurn();
    await advance(30_000);
    await ended;
    assert.equal(seen.length, 1);
  });
});

describe('calls that are not repeated', () => {
  it('a PATCH, except after 429, which the server answers before it does anything', () =>
    withServer([BUSY, SLOW_DOWN, reply(200, { id: 'a' })], async (uqrp, seen) => {
      await assert.rejects(uqrp.records.update('a', { text: 'b' }), { status: 503 });
      assert.equal(seen.length, 1);
      await uqrp.records.update('a', { text: 'b' });
      assert.equal(seen.length, 3);
    }));

  it('a sign-in: it has no key, and each mails a code', () =>
    withServer([drop], async (uqrp, seen) => {
      await assert.rejects(uqrp.auth.signIn('a@example.net'), ConnectionError);
      assert.equal(seen.length, 1);
      assert.equal(seen[0]?.headers['idempotency-key'], undefined);
    }));

  it('a refusal', () =>
    withServer([reply(404, { error: 'Record not found', code: 'not_found' })], async (uqrp, seen) => {
      await assert.rejects(uqrp.records.delete('an id'), { code: 'not_found' });
      assert.equal(seen.length, 1);
    }));

  it('a call that could not end in time: the error says why, not that time ran out', () =>
    withServer(
      [reply(429, { error: 'x', code: 'rate_limit_exceeded' }, { 'retry-after': '60' })],
      async (uqrp) => {
        await assert.rejects(uqrp.namespaces.list(), { name: 'ApiError', status: 429, retryAfter: 60 });
      },
    ));
});

describe('errors', () => {
  it('have the status, the code, every message and the request id', () =>
    withServer(
      [reply(422, { errors: ['a is b', 'c is d'], code: 'validation_error' }, { 'x-request-id': 'r1' })],
      async (uqrp) => {
        const error = await failure(uqrp.namespaces.create('x'));
        assert.ok(error instanceof ApiError);
        const { status, code, messages, requestId, message } = error;
        assert.deepEqual(
          [status, code, messages, requestId],
          [422, 'validation_error', ['a is b', 'c is d'], 'r1'],
        );
        assert.equal(message, '422 validation_error: a is b; c is d');
      },
    ));

  for (const [name, step] of [
    ['a page of a proxy', reply(502, 'Bad gateway')],
    ['a body without a code', reply(400, { error: 'x' })],
    ['a code of a later version', reply(400, { error: 'x', code: 'later' })],
    ['an endless body', endless],
    ['a page that is no JSON', html],
  ] as const) {
    it(`${name} is unknown`, () =>
      withServer([step], async (uqrp) => {
        await assert.rejects(uqrp.namespaces.list({ retries: 0 }), { name: 'ApiError', code: 'unknown' });
      }));
  }

  for (const [status, isPassing] of [
    [408, true],
    [429, true],
    [500, true],
    [503, true],
    [400, false],
    [401, false],
    [403, false],
    [404, false],
    [410, false],
    [422, false],
  ] as const) {
    it(`${status} of the server ${isPassing ? 'passes' : 'stays'}; of a proxy it passes`, async () => {
      const error = async (body: unknown): Promise<unknown> => {
        await using server = await scripted(reply(status, body, NOW));
        return await failure(new Uqrp({ baseUrl: server.base, retries: 0 }).namespaces.list());
      };
      const ours = await error({ error: 'x', code: 'validation_error' });
      const another = await error('<html>no backend</html>');
      assert.deepEqual(
        [ours, another].map((one) => one instanceof ApiError && one.isPassing),
        [isPassing, true],
      );
    });
  }

  it('no answer, or none in time, passes; a bulk write as the request that failed', () => {
    const refusal = { code: 'validation_error', messages: [], requestId: null, retryAfter: null } as const;
    const nothing = { records: [], deleted: [] };
    for (const [error, isPassing] of [
      [new ConnectionError(null), true],
      [new TimeoutError(1), true],
      [new BulkError(nothing, new TimeoutError(1)), true],
      [new BulkError(nothing, new ApiError({ status: 422, ...refusal })), false],
      [new BulkError(nothing, new Error('aborted')), false],
      [new UqrpError('x'), false],
    ] as const) {
      assert.equal(error.isPassing, isPassing, error.name);
    }
  });

  it('a redirect is not followed, so no other host gets the token', async () => {
    await using other = await scripted(OK);
    await withServer([reply(307, null, { location: other.base })], async (uqrp) => {
      await assert.rejects(uqrp.namespaces.list(), { status: 307, message: /redirects: check baseUrl/ });
    });
    assert.equal(other.seen.length, 0);
  });

  it('never hold the token', async () => {
    const failures = [
      () => Promise.resolve(new Uqrp({ baseUrl: 'http://127.0.0.1', token: `${TOKEN}\n` })),
      () => new Uqrp({ baseUrl: 'http://127.0.0.1:2', token: TOKEN, retries: 0 }).namespaces.list(),
      () => new Uqrp({ baseUrl: 'http://127.0.0.1:2', token: TOKEN, retries: 0, fetch: quoting }).me(),
    ];
    for (const run of failures) {
      const error = await failure((async (): Promise<unknown> => await run())());
      assert.doesNotMatch(inspect(error, { depth: null, showHidden: true }), /ccc/);
    }
    const uqrp = new Uqrp({ baseUrl: 'http://127.0.0.1:2', token: TOKEN });
    assert.doesNotMatch(inspect(uqrp, { depth: null, showHidden: true }) + JSON.stringify(uqrp), /ccc/);
  });
});

describe('time and abort', () => {
  it('a call ends after its timeout', () =>
    withServer(
      [hang],
      async (uqrp) => {
        await assert.rejects(uqrp.namespaces.list(), TimeoutError);
        await assert.rejects(uqrp.namespaces.list({ timeout: 10 }), { message: /10 ms/ });
      },
      { timeout: 20 },
    ));

  it('an abort ends it with the reason: before, during and between attempts', async () => {
    const reason = new Error('enough');
    await withServer([hang, reply(503, {}, { 'retry-after': '20' })], async (uqrp, seen) => {
      await assert.rejects(uqrp.namespaces.list({ signal: AbortSignal.abort(reason) }), reason);
      assert.equal(seen.length, 0);
      for (const count of [1, 2]) {
        const ending = new AbortController();
        const call = uqrp.namespaces.list({ signal: ending.signal });
        while (seen.length < count) await new Promise((resolve) => setTimeout(resolve, 2));
        ending.abort(reason);
        await assert.rejects(call, reason);
      }
    });
  });
});

describe('options', () => {
  it('a base URL with and without the path of the API', async () => {
    for (const suffix of ['', '/', '/api/v1', '/api/v1/', '/behind/a/proxy']) {
      await using server = await scripted(OK);
      await new Uqrp({ baseUrl: server.base + suffix }).namespaces.list();
      const path = suffix.startsWith('/behind') ? '/behind/a/proxy/api/v1/namespaces' : '/api/v1/namespaces';
      assert.equal(server.seen[0]?.url, path);
      assert.equal(server.seen[0]?.headers.authorization, undefined);
    }
  });

  it('names itself and the program', () =>
    withServer(
      [OK],
      async (uqrp, seen) => {
        await uqrp.namespaces.list();
        assert.match(String(seen[0]?.headers['user-agent']), /^uqrp-sdk\/\d+\.\d+\.\d+ my-program\/2$/);
      },
      { userAgent: 'my-program/2' },
    ));

  it('refuses what cannot work', () => {
    for (const options of [
      { baseUrl: 'example.net' },
      { baseUrl: 'ftp://example.net' },
      { baseUrl: 'https://a:b@example.net' },
      { baseUrl: 'https://example.net?x' },
      { baseUrl: 'https://example.net', timeout: 0 },
      { baseUrl: 'https://example.net', retries: Number.NaN },
      { baseUrl: 'https://example.net', userAgent: 'a\nb' },
    ]) {
      assert.throws(() => new Uqrp(options), /^(?:TypeError|RangeError)/, JSON.stringify(options));
    }
  });
});

function html(response: Parameters<Step>[0]): void {
  response.end('<html>');
}

function halfAnswer(response: Parameters<Step>[0]): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
  response.write('[{"id":', () => response.destroy());
}

function endless(response: Parameters<Step>[0]): void {
  response.writeHead(500);
  const more = (): void => {
    while (!response.destroyed && response.write('x'.repeat(10_000)));
  };
  response.on('drain', more);
  more();
}

/** A fetch whose error quotes the request, as some runtimes do. */
function quoting(_url: string, init: RequestInit): Promise<Response> {
  return Promise.reject(new TypeError(`invalid ${JSON.stringify(init.headers)}`, { cause: init }));
}

async function failure(call: Promise<unknown>): Promise<UqrpError | TypeError> {
  try {
    await call;
  } catch (error) {
    return error as UqrpError;
  }
  return assert.fail('it did not fail');
}
