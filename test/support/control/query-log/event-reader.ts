import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { faultOfEvent } from '../../http/openapi/event-check.ts';
import type { Caller, Json, World } from '../../http/world.ts';

/** One event of a stream. */
export interface StreamEvent {
  readonly id: string | null;
  readonly event: string;
  readonly data: Json;
}

/** A client that reads server-sent events from a listening server, as a browser does. */
export interface EventReader {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Waits for the next event. Null: the stream has ended. */
  next(): Promise<StreamEvent | null>;
  /** Waits for the next `count` events. */
  take(count: number): Promise<StreamEvent[]>;
  /** The rest of the body of an answer that is not a stream. */
  text(): Promise<string>;
  /** Reads until the server has ended the stream. */
  ended(): Promise<void>;
  /** Whether the answer came to its end: false when the connection was cut off. */
  isWhole(): boolean;
  close(): void;
}

/** Makes a world's server listen on a free port. It closes with the world. */
export async function listen(world: World): Promise<number> {
  await world.app.listen({ host: '127.0.0.1', port: 0 });
  return (world.app.server.address() as AddressInfo).port;
}

export async function openEvents(
  port: number,
  caller: Pick<Caller, 'token'> | null,
  {
    base = '/api/v1',
    path = '/query_logs/stream',
    query = '',
    headers = {},
  }: {
    /** Another one: the OpenAPI document does not have the events. */
    readonly base?: string;
    readonly path?: string;
    readonly query?: string;
    readonly headers?: Record<string, string>;
  } = {},
): Promise<EventReader> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = get(
    {
      host: '127.0.0.1',
      port,
      path: `${base}${path}${query}`,
      headers: { ...(caller && { authorization: `Bearer ${caller.token}` }), ...headers },
      agent: false,
    },
    resolve,
  );
  request.on('error', reject);
  const response = await promise;
  response.on('error', () => {});
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]();
  let buffered = '';
  const next = async (): Promise<StreamEvent | null> => {
    for (;;) {
      const end = buffered.indexOf('\n\n');
      if (end >= 0) {
        const lines = buffered.slice(0, end).split('\n');
        buffered = buffered.slice(end + 2);
        const field = (name: string): string | null =>
          lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? null;
        const data = field('data');
        if (data === null) continue;
        const [id, event] = [field('id'), field('event')];
        if (base === '/api/v1') assert.equal(await faultOfEvent(path, { id, event, data }), null);
        return { id, event: event ?? 'message', data: JSON.parse(data) };
      }
      const chunk = await chunks.next().catch(() => ({ done: true, value: '' }));
      if (chunk.done === true) return null;
      buffered += chunk.value;
    }
  };
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next,
    async take(count) {
      const events: StreamEvent[] = [];
      while (events.length < count) {
        const event = await next();
        assert.ok(event !== null, `the stream ended after ${events.length} events`);
        events.push(event);
      }
      return events;
    },
    async text() {
      let text = '';
      for await (const chunk of response) text += chunk;
      return text;
    },
    async ended() {
      while ((await next()) !== null);
    },
    isWhole: () => response.complete,
    close: () => void request.destroy(),
  };
}
