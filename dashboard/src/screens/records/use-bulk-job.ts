import { useEffect, useRef, useState } from 'preact/hooks';
import { BulkError } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { isOffline } from '../../app/offline.ts';
import { asOwn } from '../../data/own-writes.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { backoffOf } from '../../data/retry.ts';
import {
  type BulkItem,
  type BulkJob,
  type BulkPorts,
  type BulkProgress,
  bulkJob,
  type Outcome,
  type Pause,
  runBulk,
} from './bulk-job.ts';

export interface BulkHandle {
  readonly state: 'idle' | 'running' | 'ended';
  readonly progress: BulkProgress | null;
  /** Why it ended. */
  readonly pause: Pause | null;
  readonly start: (items: readonly BulkItem[]) => void;
  /** Ends after the request that is under way. */
  readonly stop: () => void;
  readonly resume: () => void;
  readonly doneKeys: () => ReadonlySet<string>;
  readonly outcomes: () => ReadonlyMap<string, Outcome>;
  /** Writes that the server has answered, in their order. */
  readonly writes: () => readonly BulkWrite[];
}

/** A write of many, by its place in the feed. */
export interface BulkWrite {
  readonly seq: string;
  readonly keys: readonly string[];
}

/** A bulk job of a component. It goes on by itself when the server is back, and ends with the component. */
export function useBulkJob(): BulkHandle {
  const job = useRef<BulkJob | null>(null);
  const stopping = useRef(new AbortController());
  const isRunning = useRef(false);
  const writes = useRef<BulkWrite[]>([]);
  const [progress, setProgress] = useState<BulkProgress | null>(null);
  const [pause, setPause] = useState<Pause | null>(null);
  const [state, setState] = useState<BulkHandle['state']>('idle');
  const resume = (): void => {
    if (job.current === null || isRunning.current) return;
    isRunning.current = true;
    stopping.current = new AbortController();
    setState('running');
    setPause(null);
    const note = (seq: string, items: readonly BulkItem[]): void => {
      writes.current.push({ seq, keys: items.map(({ key }) => key) });
    };
    const ports: BulkPorts = {
      write: (items, idempotencyKey) => write(items, idempotencyKey, (seq) => note(seq, items)),
      wait,
      show: setProgress,
    };
    void runBulk(job.current, ports, stopping.current.signal).then((ended) => {
      isRunning.current = false;
      setPause(ended);
      setState('ended');
    });
  };
  const isBack = pause?.kind === 'offline' && !isOffline.value;
  /** Of the request that the job stands at. */
  const failures = useRef({ at: 0, count: 0 });
  useEffect(() => {
    if (!isBack || job.current === null) return;
    const { at } = job.current;
    failures.current = { at, count: failures.current.at === at ? failures.current.count + 1 : 1 };
    // A server may answer everything but this request.
    const timer = setTimeout(resume, backoffOf(failures.current.count));
    return () => clearTimeout(timer);
  }, [isBack]);
  useEffect(() => () => stopping.current.abort(), []);
  const outcomes = (): ReadonlyMap<string, Outcome> => {
    const found = new Map<string, Outcome>();
    job.current?.outcomes.forEach((outcome, at) => {
      if (outcome !== undefined) found.set(job.current!.items[at]!.key, outcome);
    });
    return found;
  };
  return {
    state,
    progress,
    pause,
    start: (items) => {
      job.current = bulkJob(createRepeatKeys()(null), items);
      writes.current = [];
      resume();
    },
    stop: () => stopping.current.abort(),
    resume,
    outcomes,
    writes: () => writes.current,
    doneKeys: () => new Set([...outcomes()].filter(([, { kind }]) => kind === 'done').map(([key]) => key)),
  };
}

/** One request. What made it fail is thrown as it came. */
async function write(
  items: readonly BulkItem[],
  idempotencyKey: string,
  onWritten: (seq: string) => void,
): Promise<void> {
  const put = items.flatMap(({ record }) => (record === null ? [] : [record]));
  const keys = items.flatMap(({ key, record }) => (record === null ? [key] : []));
  try {
    // Without the signal: whether an ended request was done would not be known.
    await asOwn(
      put.length > 0 ? 'record.upserted' : 'record.deleted',
      items.map(({ key }) => key),
      () => api.records.bulk({ put, delete: keys }, { idempotencyKey, onWritten }),
    );
  } catch (error) {
    throw error instanceof BulkError ? error.reason : error;
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason);
      },
      { once: true },
    );
  });
}
