/** The rows of the log for the page: pages of the list, and the stream on top of them. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { session } from '../../app/session.ts';
import { startTail, type TailPhase } from '../../data/live-tail.ts';
import { useResource } from '../../data/resource.ts';
import { type Filters, listFilter, streamFilter } from './filters.ts';
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
import { createRate } from './row-list.ts';

const PAGE_ROWS = 100;

export interface Log extends LogState {
  readonly isLoading: boolean;
  /** Why the list could not be read; undefined: it could. */
  readonly error: unknown;
  readonly phase: TailPhase;
  /** Why the stream waits or has failed. */
  readonly tailError: unknown;
  /** Arrivals a second. */
  readonly perSecond: () => number;
  readonly again: () => void;
  readonly poll: () => void;
  readonly reload: () => void;
  /** Undefined: there are no older rows, or no room for them. */
  readonly readOlder: (() => void) | undefined;
  readonly pause: (isPaused: boolean) => void;
  readonly restart: () => void;
}

/** @param isLive whether the stream is followed */
export function useLog(filters: Filters, isLive: boolean): Log {
  const asked = listFilter(filters);
  const key = `query-log ${JSON.stringify(asked)}`;
  const [{ of, state }, set] = useState({ of: key, state: EMPTY_LOG });
  const change = useCallback(
    (next: (state: LogState) => LogState) =>
      set((now) => ({ of: key, state: next(now.of === key ? now.state : EMPTY_LOG) })),
    [key],
  );
  const shown = of === key ? state : EMPTY_LOG;
  const list = useCallback(
    (signal?: AbortSignal) => api.queryLogs.list(asked, { limit: PAGE_ROWS, signal }),
    [key],
  );
  const first = useResource(key, (signal) => list(signal).page());
  useEffect(() => {
    const page = first.value;
    if (page !== undefined) change((now) => withFirstPage(now, page));
  }, [first.value, change]);
  const tail = useTail(
    filters,
    isLive && shown.next !== undefined,
    key,
    shown.rows[0]?.id,
    first.again,
    change,
  );
  const [failure, setFailure] = useState<unknown>(undefined);
  const isReading = useRef(false);
  const read = (task: () => Promise<void>): void => {
    if (isReading.current) return;
    isReading.current = true;
    setFailure(undefined);
    task()
      .catch(setFailure)
      .finally(() => {
        isReading.current = false;
      });
  };
  const { next } = shown;
  return {
    ...shown,
    ...tail,
    isLoading: first.state === 'loading',
    error: first.error ?? failure,
    again: () => {
      setFailure(undefined);
      first.again();
    },
    poll: first.poll,
    reload: () =>
      read(async () => {
        const page = await list().page();
        change((now) => withReload(now, page));
      }),
    readOlder:
      mayReadOlder(shown) && typeof next === 'string' && failure === undefined
        ? () =>
            read(async () => {
              const page = await list().page(next);
              change((now) => withOlderPage(now, page));
            })
        : undefined,
    pause: (isPaused) => change((now) => withPause(now, isPaused)),
  };
}

function useTail(
  filters: Filters,
  isOn: boolean,
  key: string,
  newest: string | undefined,
  readAgain: () => void,
  change: (next: (state: LogState) => LogState) => void,
) {
  const [now, setNow] = useState<{ phase: TailPhase; error: unknown }>({ phase: 'off', error: null });
  const [tries, setTries] = useState(0);
  const rate = useRef(createRate());
  const isSignedIn = session.value.phase === 'in';
  const latest = useRef({ newest, readAgain });
  latest.current = { newest, readAgain };
  useEffect(() => {
    if (!isOn || !isSignedIn) {
      setNow({ phase: isOn ? 'ended' : 'off', error: null });
      return;
    }
    rate.current = createRate();
    const { newest: after } = latest.current;
    return startTail({
      stream: (options) => api.queryLogs.stream(streamFilter(filters), { ...options, after }),
      onEvents: (events) => {
        const rows = events.reduce((sum, event) => sum + (event.kind === 'row' ? 1 : (event.count ?? 0)), 0);
        rate.current.add(rows, Date.now());
        change((state) => withEvents(state, events));
      },
      onPhase: (phase, error) => {
        setNow({ phase, error });
        // Without a row to continue after, rows may have come between the list and the stream.
        if (phase === 'live' && after === undefined) latest.current.readAgain();
      },
    });
  }, [isOn, isSignedIn, key, tries, change]);
  return {
    phase: now.phase,
    tailError: now.error,
    perSecond: () => rate.current.perSecond(Date.now()),
    restart: () => setTries((count) => count + 1),
  };
}
