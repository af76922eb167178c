import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { drop, hang, reply, type Step, scripted } from '../../../../test/support/sdk/scripted-server.ts';
import type { QueryLogEvent } from '../query-logs.ts';
import { Uqrp } from '../uqrp.ts';
import type { UqrpError } from './errors.ts';
import { type StreamEvent, streamEvents } from './lines.ts';
import { Listing, nextCursor } from './pages.ts';

const ROW = { timestamp: '2026-11-22T00:00:00.000Z', namespace: 'acme', status: 'hit' };

describe('server-sent events', () => {
  it('are the same however the octets are cut', async () => {
    const text =
      ': hello\n\nid: 1\ndata: {"a":"grüße"}\n\nevent: skipped\r\ndata: 1\r\ndata: 2\r\n\r\nid\n\ndata:x\n\ndata: cut';
    const octets = new TextEncoder().encode(text);
    const expected = [
      { event: 'message', data: '{"a":"grüße"}', id: '1' },
      { event: 'skipped', data: '1\n2', id: '1' },
      { event: 'message', data: 'x', id: '' },
    ];
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(octets.length)), async (cuts) => {
        const events: StreamEvent[] = [];
        for await (const event of streamEvents(new Response(cut(octets, cuts)))) events.push(event);
        assert.deepEqual(events, expected);
      }),
      { seed: 11, numRuns: 100 },
    );
  });
});

describe('the stream of changes', () => {
  it('goes on after a checkpoint too, and tells of changes that are missing', async () => {
    const events =
      (...parts: readonly string[]): Step =>
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(parts.join(''), () => response.destroy());
      };
    const row = (cursor: string): string => `id: ${cursor}\ndata: {"cursor":"${cursor}"}\n\n`;
    await using server = await scripted(
      events(row('a'), 'event: checkpoint\nid: b\ndata: {}\n\n'),
      events('event: reset\nid: c\ndata: {"reason":"too_old","cursor":"c"}\n\n', 'event: later\ndata: 1\n\n'),
      reply(401, { error: 'x', code: 'authentication_error' }),
    );
    const said: unknown[] = [];
    const uqrp = new Uqrp({ baseUrl: server.base, token: 't' });
    await assert.rejects(
      async () => {
        for await (const change of uqrp.changes({ since: 's', namespace: 'shop' })) said.push(change);
      },
      { code: 'authentication_error' },
    );
    assert.deepEqual(said, [{ cursor: 'a' }, { event: 'reset', reason: 'too_old', cursor: 'c' }]);
    assert.deepEqual(
      server.seen.map(({ headers }) => headers['last-event-id'] ?? null),
      [null, 'b', 'c'],
    );
    assert.equal(server.seen[0]!.url, '/api/v1/changes/stream?since=s&namespace=shop');
  });
});

describe('the stream of changes without a place', () => {
  it('begins where the log ends at its call, also when its first connection breaks before the first event', async () => {
    const page = (next: string): Step => reply(200, { changes: [], next, has_more: false });
    const open: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 3000\n\n', () => response.destroy());
    };
    const ended = reply(401, { error: 'x', code: 'authentication_error' });
    await using server = await scripted(drop, page('a'), drop, open, ended);
    const connections: (string | boolean)[] = [];
    const changes = new Uqrp({ baseUrl: server.base, token: 't' }).changes({
      namespace: 'shop',
      onConnection: (isOpen, error) => void connections.push(error?.name ?? isOpen),
    });
    await assert.rejects(changes.next(), { code: 'authentication_error' });
    assert.deepEqual(
      server.seen.map(({ url, headers }) => [url, headers['last-event-id'] ?? null]),
      [
        ['/api/v1/changes', null],
        ['/api/v1/changes', null],
        ...Array.from({ length: 3 }, () => ['/api/v1/changes/stream?namespace=shop', 'a']),
      ],
    );
    assert.deepEqual(connections, ['ConnectionError', 'ConnectionError', true, 'ConnectionError']);
  });
});

describe('the stream of the query log', () => {
  it('continues after the last row when a connection is lost, and ends with the session', async () => {
    const rows = (...ids: readonly string[]): Step => {
      const text = ids.map((id) => `id: ${id}\ndata: ${JSON.stringify({ id, ...ROW })}\n\n`).join('');
      return (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(
          `${text}event: skipped\ndata: {"count": 3}\n\nevent: skipped\ndata: {"count":null}\n\nevent: later\ndata: {}\n\n`,
          () => response.destroy(),
        );
      };
    };
    await using server = await scripted(
      rows('a', 'b'),
      drop,
      reply(503, {}, { 'retry-after': '0' }),
      rows('c'),
      reply(401, { error: 'x', code: 'authentication_error' }),
    );
    const said: QueryLogEvent[] = [];
    const connections: (string | boolean)[] = [];
    const onConnection = (isOpen: boolean, error: UqrpError | null): void =>
      void connections.push(error?.name ?? isOpen);
    const stream = new Uqrp({ baseUrl: server.base, token: 't' }).queryLogs.stream(
      { status: 'hit' },
      { onConnection },
    );
    await assert.rejects(
      async () => {
        for await (const event of stream) said.push(event);
      },
      { code: 'authentication_error' },
    );
    const shown = said.map((event) => (event.kind === 'row' ? event.row.id : event.count));
    assert.deepEqual(shown, ['a', 'b', 3, null, 'c', 3, null]);
    const asked = server.seen.map(({ headers }) => headers['last-event-id'] ?? null);
    assert.deepEqual(asked, [null, 'b', 'b', 'b', 'c']);
    const lost = 'ConnectionError';
    assert.deepEqual(connections, [true, lost, lost, 'ApiError', true, lost]);
    assert.ok(server.seen.every(({ url }) => url === '/api/v1/query_logs/stream?status=hit'));
  });

  it('connects again when a proxy answers in place of the server (streams behind a proxy)', async () => {
    const row: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`id: a\ndata: ${JSON.stringify({ id: 'a', ...ROW })}\n\n`);
    };
    const statuses = [400, 401, 403, 404, 408, 410];
    const pages = statuses.map((status) => reply(status, '<html>', { 'retry-after': '0' }));
    await using server = await scripted(...pages, row);
    const stream = new Uqrp({ baseUrl: server.base, token: 't' }).queryLogs.stream();
    const { value } = await stream.next();
    assert.equal(value?.kind, 'row');
    assert.equal(server.seen.length, statuses.length + 1);
    await stream.return();
  });

  it('connects again when a connection is silent', async () => {
    const silent: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`id: a\ndata: ${JSON.stringify({ id: 'a', ...ROW })}\n\n`);
    };
    await using server = await scripted(silent);
    const stream = new Uqrp({ baseUrl: server.base, token: 't' }).queryLogs.stream({}, { silence: 100 });
    for await (const event of stream) {
      assert.equal(event.kind, 'row');
      if (server.seen.some(({ headers }) => headers['last-event-id'] === 'a')) break;
    }
  });

  it('connects again when an answer does not begin in time', async () => {
    const begun: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`id: a\ndata: ${JSON.stringify({ id: 'a', ...ROW })}\n\n`);
    };
    await using server = await scripted(hang, begun);
    const { queryLogs } = new Uqrp({ baseUrl: server.base, token: 't', timeout: 300 });
    const stream = queryLogs.stream();
    const { value } = await stream.next();
    assert.equal(value?.kind, 'row');
    assert.equal(server.seen.length, 2);
    await stream.return();
  });

  it('does not end after lost connections that had a sign of life (a proxy that cut each after a minute ended a quiet one)', async () => {
    const quiet: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 3000\n\n: keep-alive\n\n', () => response.destroy());
    };
    const row: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`id: a\ndata: ${JSON.stringify({ id: 'a', ...ROW })}\n\n`);
    };
    await using server = await scripted(quiet, quiet, quiet, row);
    const stream = new Uqrp({ baseUrl: server.base, token: 't' }).queryLogs.stream({}, { reconnects: 1 });
    assert.equal((await stream.next()).value?.kind, 'row');
    assert.equal(server.seen.length, 4);
    await stream.return();
  });

  it('ends after failures in a row, and with the signal', async () => {
    await using server = await scripted(reply(503, {}, { 'retry-after': '0' }));
    const { queryLogs } = new Uqrp({ baseUrl: server.base, token: 't' });
    await assert.rejects(queryLogs.stream({}, { reconnects: 2 }).next(), { status: 503 });
    assert.equal(server.seen.length, 3);
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(queryLogs.stream({}, { signal }).next(), { message: 'enough' });
  });
});

describe('a body that is read while it arrives', () => {
  const { signal } = new AbortController();
  const listeners = (): number => getEventListeners(signal, 'abort').length;

  it('leaves no listener on the signal of the caller, however many connections there were', async () => {
    const event: Step = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('id: a\nevent: checkpoint\ndata: {}\n\n', () => response.destroy());
    };
    const ended = reply(401, { error: 'x', code: 'authentication_error' });
    await using server = await scripted(event, event, (response) => response.end(), ended);
    const changes = new Uqrp({ baseUrl: server.base, token: 't' }).changes({ since: 's', signal });
    await assert.rejects(changes.next(), { code: 'authentication_error' });
    assert.equal(server.seen.length, 4);
    assert.equal(listeners(), 0);
  });

  it('is that of the response itself, which the runtime gives up where nobody reads it (each held a connection)', async () => {
    const given: Response[] = [];
    await using server = await scripted((response) => response.end('abc'));
    const uqrp = new Uqrp({
      baseUrl: server.base,
      token: 't',
      fetch: async (...request) => {
        given.push(await fetch(...request));
        return given[0]!;
      },
    });
    const response = await uqrp.open({ method: 'GET', path: '/meta', signal });
    assert.equal(response, given[0]);
    assert.equal(response.bodyUsed || response.body!.locked, false);
    assert.equal(listeners(), 0);
    assert.equal(await response.text(), 'abc');
  });

  it('ends with that signal', async () => {
    await using server = await scripted((response) => response.write('abc'));
    const ending = new AbortController();
    const uqrp = new Uqrp({ baseUrl: server.base, token: 't' });
    const response = await uqrp.open({ method: 'GET', path: '/meta', signal: ending.signal });
    const reason = new Error('enough');
    ending.abort(reason);
    await assert.rejects(response.text(), reason);
    assert.equal(getEventListeners(ending.signal, 'abort').length, 0);
  });
});

describe('an export', () => {
  it('gives its lines, and says when it broke off', async () => {
    await using server = await scripted(
      (response) => response.end('{"a":1}\n{"b":2}\n'),
      (response) => {
        response.writeHead(200);
        response.write('{"a":1}\n{"b"', () => response.destroy());
      },
    );
    const { namespaces } = new Uqrp({ baseUrl: server.base, token: 't' });
    const lines: unknown[] = [];
    for await (const line of namespaces.export('an id')) lines.push(line);
    assert.equal(JSON.stringify(lines), '[{"a":1},{"b":2}]');
    await assert.rejects(
      async () => {
        for await (const line of namespaces.export('an id')) lines.push(line);
      },
      { name: 'ConnectionError' },
    );
    assert.equal(lines.length, 3);
  });
});

describe('listings', () => {
  it('read the next page only when it is needed', async () => {
    const asked: (string | null)[] = [];
    const listing = new Listing<number>(async (cursor) => {
      asked.push(cursor);
      const at = Number(cursor ?? 0);
      return { items: [at, at + 1], next: at < 4 ? String(at + 2) : null };
    });
    assert.deepEqual(await listing.toArray(3), [0, 1, 2]);
    assert.deepEqual(asked, [null, '2']);
    assert.deepEqual(await listing.toArray(), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual((await listing.page('4')).items, [4, 5]);
  });

  it('take the cursor of rel="next" and nothing else of a Link', () => {
    const cases: readonly (readonly [string | null, string | null])[] = [
      [null, null],
      ['<https://evil.example/x?limit=1&cursor=a%2Bb>; rel="next"', 'a+b'],
      ['</x?cursor=a>; rel="prev", </x?cursor=b>; rel="next"', 'b'],
      ['</x?cursor=b>; title="x"; rel=next', 'b'],
      ['</x?cursor=b>; rel="nextish"', null],
      ['</x>; rel="next"', null],
      ['nonsense', null],
    ];
    for (const [link, cursor] of cases) {
      assert.equal(nextCursor(new Headers(link === null ? {} : { link })), cursor, link ?? 'none');
    }
  });
});

/** The octets in pieces. */
function cut(octets: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> {
  const places = [0, ...[...cuts].sort((a, b) => a - b), octets.length];
  return new ReadableStream({
    start(controller) {
      for (const [index, at] of places.slice(1).entries())
        controller.enqueue(octets.slice(places[index], at));
      controller.close();
    },
  });
}
