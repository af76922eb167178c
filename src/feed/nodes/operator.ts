/** What a control process answers to the command line: how nodes and feed are, and what an operator tells it to do. */
import { every } from '../../base/lifecycle/loop.ts';
import { type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import type { Bus } from '../bus/bus.ts';
import { openBatch } from '../message/batch.ts';
import type { FeedVerifier } from '../message/keys.ts';
import { jsonUnderKey } from '../message/message.ts';
import {
  answerQuestions,
  type ControlEnd,
  doneBody,
  openQuestion,
  type Rpc,
  RpcError,
  subjectOf,
} from '../message/rpc.ts';
import type { LogBounds } from '../ports/change-source.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import type { NodeReport, NodeStates } from './node-states.ts';

/** What the process knows that publishes. */
export interface PublisherReport {
  /** `seq` of the last change that was sent. */
  readonly seq: number;
  /** Batches that the stream has not confirmed. */
  readonly unconfirmed: number;
  /** Since the process started. */
  readonly conflicts: number;
}

interface SnapshotReport {
  readonly id: string;
  readonly seq: number;
  /** Since it was made. */
  readonly seconds: number;
}

export interface FeedStatus {
  readonly log: LogBounds;
  /** Null: no process publishes, or none told for 15 seconds. */
  readonly publisher: PublisherReport | null;
  /** First and last change in the stream; null for an empty one, and when it cannot be read. */
  readonly stream: { readonly from: number; readonly to: number } | null;
  readonly snapshots: readonly SnapshotReport[];
  readonly nodes: number;
  readonly late: readonly string[];
}

interface Told {
  readonly report: PublisherReport;
  /** By the clock of the process that publishes. */
  readonly at: number;
  /** Milliseconds of `elapsed` when it came. */
  readonly since: number;
}

interface StatusOptions {
  /** From `operatorEnd`. */
  readonly end: ControlEnd;
  /** From `controlRpc`: the process that publishes tells the others. */
  readonly rpc: Rpc;
  readonly verifier: FeedVerifier;
  readonly states: NodeStates;
  /** Null while another process publishes. */
  readonly publisher: () => PublisherReport | null;
  readonly bounds: () => Promise<LogBounds>;
  readonly snapshots: () => Promise<readonly SnapshotReport[]>;
  readonly timers?: Timers | undefined;
}

const STATUS_RATE = { perSecond: 20, burst: 100 } as const;
const AT_ONCE = 16;
const REPORT_MS = 5_000;
const REPORT_KEPT_MS = 15_000;
const STATUS_ANSWER_MS = 5_000;
/** A command or a report is of now: one that a broker kept and sends later is refused. */
const AGE_MAX_MS = 60_000;

/** @returns ends it */
export function startStatus(options: StatusOptions): () => Promise<void> {
  const { end, rpc, verifier, states, publisher, bounds, snapshots, timers = wholeSecondTimers } = options;
  let told: Told | null = null;
  const isSilent = ({ since }: Told): boolean => timers.elapsed() - since > REPORT_KEPT_MS;

  async function feedStatus(): Promise<FeedStatus> {
    const nodes = states.list();
    const [log, stream, kept] = await Promise.all([bounds(), streamBounds(end.bus, verifier), snapshots()]);
    return {
      log,
      publisher: publisher() ?? (told === null || isSilent(told) ? null : told.report),
      stream,
      snapshots: kept,
      nodes: nodes.length,
      late: nodes.filter(({ late }) => late).map(({ name }) => name),
    };
  }

  const stopAnswers = answerQuestions(end, {
    kinds: ['status'],
    rate: STATUS_RATE,
    atOnce: { all: AT_ONCE },
    async answer({ body }) {
      if (body === 'nodes') return { json: states.list() };
      if (body === 'feed') return { json: await feedStatus() };
      throw new FeedRefusedError('format');
    },
  });
  const stopHearing = end.bus.subscribe(subjectOf('publisher', '*'), (message) => {
    try {
      const report = openQuestion(end, ['publisher'], message);
      const { at } = report;
      if (Math.abs(end.clock() - at) > AGE_MAX_MS) throw new FeedRefusedError('clock');
      // Of another process the clock may be behind that of the one before.
      if (told !== null && at <= told.at && !isSilent(told)) return;
      told = { report: jsonUnderKey(report, end.ring()) as PublisherReport, at, since: timers.elapsed() };
    } catch (error) {
      if (!(error instanceof FeedRefusedError)) throw error;
      end.onRefused?.(error.reason);
    }
  });
  const telling = every({
    ms: REPORT_MS,
    task() {
      const report = publisher();
      if (report !== null) rpc.tell('publisher', report);
    },
    onError: (error) => end.onError?.(error),
    timers,
  });
  return async () => {
    stopAnswers();
    stopHearing();
    await telling.stop();
  };
}

/** Null also while the stream cannot be read: the status of the rest is told meanwhile. */
async function streamBounds(bus: Bus, verifier: FeedVerifier): Promise<FeedStatus['stream']> {
  try {
    const [[first], last] = await Promise.all([bus.readFrom(1, 1), bus.readLast()]);
    if (first === undefined || last === null) return null;
    return { from: openBatch(first.data, verifier).from, to: openBatch(last.data, verifier).to };
  } catch {
    return null;
  }
}

/**
 * Asks a control process. Its signature was checked, so the shape is what this release writes.
 * @throws BusError, FeedRefusedError, RpcError
 */
export async function askNodes(rpc: Rpc): Promise<readonly NodeReport[]> {
  return doneBody(await rpc.ask('status', 'nodes', STATUS_ANSWER_MS)) as readonly NodeReport[];
}

/** As `askNodes`. */
export async function askFeed(rpc: Rpc): Promise<FeedStatus> {
  return doneBody(await rpc.ask('status', 'feed', STATUS_ANSWER_MS)) as FeedStatus;
}

interface CommandOptions {
  /** From `operatorEnd`: a holder of control's credentials may command, and no node. */
  readonly end: ControlEnd;
  /** Destroys every hourly key and makes a new one. */
  readonly renewKeys: () => Promise<void>;
  /** @returns the new epoch of the database */
  readonly renewEpoch: () => Promise<string>;
}

const COMMAND_RATE = { perSecond: 1, burst: 4 } as const;
/** A purge of gigabytes takes seconds. */
const COMMAND_ANSWER_MS = 50_000;

/** @returns ends it */
export function startCommands({ end, renewKeys, renewEpoch }: CommandOptions): () => void {
  let last = 0;

  function isNew(at: number): boolean {
    if (Math.abs(end.clock() - at) > AGE_MAX_MS || at <= last) return false;
    last = at;
    return true;
  }

  return answerQuestions(end, {
    kinds: ['command'],
    rate: COMMAND_RATE,
    atOnce: { all: 1 },
    async answer({ at, body }) {
      if (!isNew(at)) throw new FeedRefusedError('replayed');
      if (body === 'erase') {
        await eraseFeed(end.bus, renewKeys);
        return {};
      }
      if (body === 'epoch') return { json: await renewEpoch() };
      throw new FeedRefusedError('format');
    },
  });
}

/** Keys first: from then on nothing that was written before can be read, wherever copies of it are. */
async function eraseFeed(bus: Bus, renewKeys: () => Promise<void>): Promise<void> {
  await renewKeys();
  await bus.eraseStreams();
}

/**
 * Resolves when keys, stream and snapshots are gone. The next snapshot is asked for apart.
 * @throws BusError, FeedRefusedError, RpcError
 */
export async function askToErase(rpc: Rpc): Promise<void> {
  doneBody(await rpc.ask('command', 'erase', COMMAND_ANSWER_MS));
}

/** As `askToErase`. @returns the new epoch */
export async function askForEpoch(rpc: Rpc): Promise<string> {
  const epoch = doneBody(await rpc.ask('command', 'epoch', COMMAND_ANSWER_MS));
  if (typeof epoch !== 'string') throw new RpcError('failed');
  return epoch;
}

interface DemandOptions {
  /** From `operatorEnd`. */
  readonly end: ControlEnd;
  readonly isLeading: () => boolean;
  /** @returns `seq` of the snapshot that was made */
  readonly make: () => Promise<number>;
  readonly timers?: Timers | undefined;
}

/** Leadership moves; only the leader listens, because a broker gives a question to one of those who do. */
const LOOK_MS = 500;
/** A broker can repeat a question, and a snapshot takes minutes. */
const DEMANDS = 16;
/** A view of tens of gigabytes takes minutes. */
const DEMAND_ANSWER_MS = 300_000;

/** Makes a snapshot when the command line asks, in the process that makes them. */
export function answerDemands({ end, isLeading, make, timers }: DemandOptions): { stop(): Promise<void> } {
  let stopAnswers: (() => void) | null = null;
  const listen = (): (() => void) =>
    answerQuestions(end, {
      kinds: ['make'],
      atOnce: { all: DEMANDS },
      async answer({ at }) {
        if (Math.abs(end.clock() - at) > AGE_MAX_MS) throw new FeedRefusedError('replayed');
        return { json: await make() };
      },
    });
  const looking = every({
    ms: LOOK_MS,
    task() {
      if (isLeading()) stopAnswers ??= listen();
      else {
        stopAnswers?.();
        stopAnswers = null;
      }
    },
    onError: () => {},
    ...(timers === undefined ? {} : { timers }),
  });
  return {
    async stop() {
      stopAnswers?.();
      await looking.stop();
    },
  };
}

/**
 * @returns `seq` of the snapshot that was made
 * @throws BusError `no_responders`: no control process makes snapshots now. RpcError: it could not be made. FeedRefusedError for a false answer
 */
export async function demandSnapshot(rpc: Rpc, answerMs = DEMAND_ANSWER_MS): Promise<number> {
  return doneBody(await rpc.ask('make', null, answerMs)) as number;
}
