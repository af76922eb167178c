import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  ApiError,
  ConnectionError,
  type LogStreamOptions,
  type QueryLogEvent,
  type QueryLogPage,
  type QueryLogRow,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { startTail, type TailPhase } from '../../data/live-tail.ts';
import {
  EMPTY_LOG,
  type LogState,
  mayReadOlder,
  withEvents,
  withFirstPage,
  withOlderPage,
  withPause,
  withReload,
} from './log-state.ts';

function row(id: number): QueryLogRow {
  const rest = { operation: 'get', qtype: 'TXT', rcode: 'NOERROR', transport: 'udp', node: 'fra1' } as const;
  const what = { namespace: 'acme', resource: 'status', version: 'v1', status: 'hit' } as const;
  return { id: String(id), timestamp: '2026-11-22T12:00:00.000Z', ...rest, ...what, duration_ms: 0 };
}

function page(ids: readonly number[], next: string | null): QueryLogPage {
  const meta = {
    total: 1_000,
    dropped: 2,
    total_window_hours: 24,
    limit: 100,
    next_cursor: next,
    has_more: next !== null,
  };
  return { items: ids.map(row), next, meta };
}

const live = (...ids: readonly number[]): QueryLogEvent[] => ids.map((id) => ({ kind: 'row', row: row(id) }));
const idsOf = ({ rows }: Pick<LogState, 'rows'>): number[] => rows.map(({ id }) => Number(id));
const FIRST = withFirstPage(EMPTY_LOG, page([9, 8, 7], 'c'));

describe('the log that the page holds', () => {
  it('begins with the first page, and goes on with older ones and live rows', () => {
    assert.deepEqual([idsOf(FIRST), FIRST.next, FIRST.total, FIRST.dropped], [[9, 8, 7], 'c', 1_000, 2]);
    const older = withOlderPage(FIRST, page([6, 5], null));
    assert.deepEqual(
      [idsOf(older), mayReadOlder(FIRST), mayReadOlder(older)],
      [[9, 8, 7, 6, 5], true, false],
    );
    assert.deepEqual(idsOf(withEvents(older, live(10, 11))), [11, 10, 9, 8, 7, 6, 5]);
  });

  it('keeps live rows that came before the first page', () => {
    assert.deepEqual(idsOf(withFirstPage(withEvents(EMPTY_LOG, live(10)), page([9], null))), [10, 9]);
  });

  it('takes a page that is read again, but leaves no hole behind it', () => {
    assert.deepEqual(idsOf(withFirstPage(FIRST, page([11, 10, 9], 'd'))), [11, 10, 9, 8, 7]);
    const far = withFirstPage(FIRST, page([30, 29, 28], 'd'));
    assert.deepEqual([idsOf(far), far.next], [[30, 29, 28], 'd']);
  });

  it('holds live rows while it is paused, counts them, and shows them afterwards', () => {
    const paused = withEvents(withPause(FIRST, true), live(10, 11));
    assert.deepEqual([idsOf(paused), paused.heldCount], [[9, 8, 7], 2]);
    const again = withFirstPage(paused, page([12, 11, 10, 9], 'd'));
    assert.deepEqual([idsOf(again), again.heldCount], [[9, 8, 7], 3]);
    const shown = withPause(again, false);
    assert.deepEqual([idsOf(shown), shown.heldCount], [[12, 11, 10, 9, 8, 7], 0]);
  });

  it('says what is missing, until the list is read again', () => {
    const missing = withEvents(FIRST, [
      { kind: 'skipped', count: 128 },
      { kind: 'skipped', count: 2 },
      { kind: 'skipped', count: null },
      ...live(40),
    ]);
    assert.deepEqual([missing.skipped, missing.hasGap], [130, true]);
    const whole = withReload(missing, page([40, 39], 'e'));
    assert.deepEqual([idsOf(whole), whole.skipped, whole.hasGap, whole.next], [[40, 39], 0, false, 'e']);
  });

  it('is full at 5,000 rows, shown and held', () => {
    const ids = Array.from({ length: 5_001 }, (_, index) => index + 100);
    const full = withEvents(FIRST, live(...ids));
    assert.deepEqual([full.rows.length, mayReadOlder(full)], [5_000, false]);
    const held = withEvents(withPause(FIRST, true), live(...ids));
    assert.deepEqual([held.held.length, held.heldCount], [5_000, 5_001]);
  });
});

describe('following the stream', () => {
  type Stream = (options: LogStreamOptions) => AsyncGenerator<QueryLogEvent, void, undefined>;

  /** Follows until the phase. */
  function follow(until: TailPhase, stream: Stream) {
    const seen: {
      phases: [TailPhase, unknown][];
      events: QueryLogEvent[];
      options: LogStreamOptions | null;
    } = {
      phases: [],
      events: [],
      options: null,
    };
    return new Promise<typeof seen & { stop: () => void }>((resolve) => {
      const stop = startTail({
        stream: (options) => {
          seen.options = options;
          return stream(options);
        },
        onEvents: (events: readonly QueryLogEvent[]) => void seen.events.push(...events),
        onPhase: (phase, error) => {
          seen.phases.push([phase, error]);
          // `stop` is there only after the call that begins.
          if (phase === until) setTimeout(() => resolve({ ...seen, stop }));
        },
      });
    });
  }

  it('goes on through lost connections, and tells of each', async () => {
    const lost = new ConnectionError(null);
    const ended = new ApiError({
      status: 401,
      code: 'authentication_error',
      messages: ['x'],
      requestId: null,
      retryAfter: null,
    });
    const seen = await follow('ended', async function* (options) {
      options.onConnection?.(true, null);
      yield* live(10);
      options.onConnection?.(false, lost);
      options.onConnection?.(true, null);
      yield* live(11);
      throw ended;
    });
    assert.deepEqual(seen.phases, [
      ['connecting', null],
      ['live', null],
      ['waiting', lost],
      ['live', null],
      ['ended', ended],
    ]);
    // What came just before the end is not lost with it.
    assert.deepEqual(seen.events, live(10, 11));
    assert.equal(seen.options?.reconnects, Number.POSITIVE_INFINITY);
  });

  it('says that it has failed when a connection is refused for good', async () => {
    const seen = await follow('failed', async function* () {
      yield* [];
      throw new RangeError('refused');
    });
    assert.equal(seen.phases.at(-1)?.[0], 'failed');
  });

  it('ends the connection when it is stopped, and says nothing more', async () => {
    let isDone = false;
    const seen = await follow('live', async function* (options) {
      options.onConnection?.(true, null);
      await new Promise((resolve) => options.signal?.addEventListener('abort', resolve));
      isDone = true;
      yield* live(10);
      throw options.signal?.reason;
    });
    seen.stop();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isDone, seen.phases.length, seen.events.length], [true, 2, 0]);
  });
});
