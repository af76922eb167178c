/** The workers of a node: what stands behind the sockets of a worker thread, with a packet cache each. */
import type { Timers } from '../../../src/base/lifecycle/timers.ts';
import type { NodeKeySetData } from '../../../src/dns/dnssec/node-key-set.ts';
import { type Answers, openAnswers } from '../../../src/process/node/answers.ts';
import type { Counters } from '../counters.ts';
import { ZONE } from './packets.ts';
import type { SharedView, WorkerView } from './shared-view.ts';

export interface EdgeWorkers {
  readonly count: number;
  /** @returns null: it stays silent. A promise: it waits for its turn to sign */
  /** They sign with other keys, one worker after another. */
  change(keys: readonly NodeKeySetData[]): Promise<void>;
  answer(worker: number, question: Uint8Array, transport: 'udp' | 'tcp'): Reply | Promise<Reply>;
}

type Reply = Uint8Array | null;

interface WorkersOptions {
  readonly node: string;
  readonly count: number;
  readonly shared: SharedView;
  /** There is a transparency log. */
  readonly isLogged: boolean;
  readonly clock: () => number;
  readonly timers: Timers;
  readonly counters: Counters;
  /** Takes what a worker hands over. */
  readonly counted: (buffer: ArrayBuffer) => void;
}

/** Small, so that entries are replaced. */
const CACHE = { entries: 16, octets: 65_536 } as const;
/** Until one worker has put other keys to use. */
const CHANGED_MS = 2;
/** Of all workers: a reply is copied from it at once. */
const OUT = Buffer.alloc(65_535);

export function openEdgeWorkers(options: WorkersOptions): EdgeWorkers {
  const { node, count, shared, isLogged, clock, timers, counters, counted } = options;
  let keys: readonly NodeKeySetData[] = [];
  const opened: { readonly answers: Answers; readonly memory: WorkerView }[] = [];

  /** Opened by its first question: many processes of a simulation are never asked. */
  function worker(at: number): (typeof opened)[number] {
    const known = opened[at];
    if (known !== undefined) return known;
    const memory = shared.worker();
    const answers = openAnswers({
      settings: {
        zones: [ZONE],
        nameServers: [{ label: 'ns1', addresses: ['192.0.2.1'] }],
        signing: 'full',
        keys,
        nodeName: node,
        sync: true,
        demo: false,
        datasets: { asOf: false, log: isLogged },
        accounting: true,
      },
      view: memory.view,
      freshness: memory.freshness,
      services: new Map(),
      cache: CACHE,
      clock,
      timers,
      observe: {
        cacheHit: () => counters.count('packet cache hit'),
        cacheMiss: () => counters.count('packet cache miss'),
        signing: (event) => counters.count(`signing ${event}`),
        query() {},
      },
      counted,
    });
    opened[at] = { answers, memory };
    return opened[at];
  }

  return {
    count,
    async change(next) {
      keys = next;
      for (const { answers } of opened.filter((each) => each !== undefined)) {
        const use = answers.change(keys);
        await new Promise<void>((resolve) => timers.after(CHANGED_MS, resolve));
        use();
      }
    },
    answer(at, question, transport) {
      const { answers, memory } = worker(at);
      memory.begin();
      const octets = answers.handler.hot(question, question.length, transport, OUT);
      if (octets > 0) return Uint8Array.from(OUT.subarray(0, octets));
      return answers.handler.slow(question, transport, transport === 'tcp');
    },
  };
}
