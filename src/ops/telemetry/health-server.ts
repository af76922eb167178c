/** `/livez`, `/readyz` and `/metrics` in a thread of their own: they are answered while the main thread is busy. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { boundConnections } from '../../base/lifecycle/http.ts';
import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { MetricsText, ReadyAnswer } from './ops-routes.ts';

// An import would also load fetch.
const { createServer } = process.getBuiltinModule('node:http');

export interface HealthSettings {
  readonly host: string;
  readonly port: number;
  /** What the main thread has said of itself last. */
  readonly ready: ReadyAnswer;
}

export type ToHealth =
  /** Answers `ask`. */
  | { readonly type: 'ready'; readonly ready: ReadyAnswer }
  /** Answers `ask`; null: they could not be made. */
  | { readonly type: 'metrics'; readonly metrics: MetricsText | null }
  | { readonly type: 'stop' };

export type FromHealth =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'failed'; readonly code: string; readonly message: string }
  | { readonly type: 'ask'; readonly what: 'ready' | 'metrics' };

interface HealthOptions {
  readonly ready: ReadyAnswer;
  /** Asks the main thread. */
  readonly ask: (what: 'ready' | 'metrics') => void;
  /** Milliseconds. */
  readonly now: () => number;
  readonly timers: Timers;
}

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

export interface Health {
  reply(path: string): Promise<Reply>;
  /** Takes an answer of the main thread. */
  told(message: Exclude<ToHealth, { readonly type: 'stop' }>): void;
}

const NOT_FOUND: Reply = json(404, { error: 'Not found', code: 'not_found' });

/**
 * A main thread that is late counts as it was: it neither answers DNS nor keeps the view from being read. When it has not answered for
 * `LIMITS.healthStuckMs`, it applies no change either, and the process is to be started again.
 */
export function createHealth({ ready, ask, now, timers }: HealthOptions): Health {
  let last = { ready, at: now() };
  const readiness = createQuestion<ReadyAnswer>(() => ask('ready'), now, timers);
  const metrics = createQuestion<MetricsText | null>(() => ask('metrics'), now, timers);

  function livez(): Reply {
    readiness.ask();
    const live = readiness.unansweredMs() < LIMITS.healthStuckMs;
    return json(live ? 200 : 503, { live });
  }

  async function readyz(): Promise<Reply> {
    const told = await readiness.answer(LIMITS.healthAnswerMs);
    const { status, body } = told ?? last.ready;
    if (told !== null || body.lag === undefined) return json(status, body);
    const seconds = body.lag.seconds + (now() - last.at) / 1000;
    return json(status, { ...body, lag: { ...body.lag, seconds } });
  }

  async function metricsText(): Promise<Reply> {
    const told = await metrics.answer(LIMITS.healthMetricsMs);
    if (told === null) return json(503, { error: 'Metrics could not be read', code: 'server_error' });
    return { status: 200, type: told.contentType, text: told.text };
  }

  return {
    async reply(path) {
      if (path === '/livez') return livez();
      if (path === '/readyz') return readyz();
      if (path === '/metrics') return metricsText();
      return NOT_FOUND;
    },
    told(message) {
      if (message.type === 'metrics') metrics.told(message.metrics);
      else {
        last = { ready: message.ready, at: now() };
        readiness.told(message.ready);
      }
    },
  };
}

/** One question to the main thread at a time, for all who want to know. */
function createQuestion<T>(send: () => void, now: () => number, timers: Timers) {
  let askedAt: number | null = null;
  const waiting = new Set<(answer: T) => void>();

  function ask(): void {
    if (askedAt !== null) return;
    askedAt = now();
    send();
  }

  return {
    ask,
    unansweredMs: () => (askedAt === null ? 0 : now() - askedAt),
    told(answer: T): void {
      askedAt = null;
      for (const tell of [...waiting]) tell(answer);
    },
    /** Null: no answer within `ms`. */
    answer(ms: number): Promise<T | null> {
      ask();
      return new Promise((resolve) => {
        const end = (answer: T | null): void => {
          waiting.delete(end);
          cancel();
          resolve(answer);
        };
        const cancel = timers.after(ms, () => end(null));
        waiting.add(end);
      });
    },
  };
}

function json(status: number, body: object): Reply {
  return { status, type: 'application/json; charset=utf-8', text: JSON.stringify(body) };
}

/** Milliseconds: those of the REST API. */
const TIMES = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  connectionsCheckingInterval: 5000,
};

/** Not listening yet. @param clock milliseconds */
export function createHealthServer(
  health: Health,
  clock: () => number,
  idleMs: number = LIMITS.healthIdleMs,
): Server {
  const server = createServer(TIMES, (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    const path = (request.url ?? '').split('?', 1)[0]!;
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    void (isRead ? health.reply(path) : Promise.resolve(NOT_FOUND)).then(({ status, type, text }) => {
      const headers = {
        'content-type': type,
        'cache-control': 'no-store',
        'content-length': Buffer.byteLength(text),
      };
      response.writeHead(status, headers).end(request.method === 'HEAD' ? undefined : text);
    });
  });
  boundConnections(server, { connections: LIMITS.healthConnections, idleMs, clock });
  return server;
}
