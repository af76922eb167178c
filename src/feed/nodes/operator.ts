/** What a control process tells the command line: how the nodes are, and how the feed is. */
import { every } from '../../base/lifecycle/every.ts';
import { type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import type { Bus } from '../bus/bus.ts';
import { openBatch } from '../message/batch.ts';
import type { FeedVerifier } from '../message/message.ts';
import type { LogBounds } from '../ports/change-source.ts';
import { FeedRefusedError } from '../ports/refusal.ts';
import {
  answerRequests,
  type ControlEnd,
  type Exchange,
  ExchangeError,
  openFrom,
  subjectOf,
} from '../rpc/rpc.ts';
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

interface StatusOptions {
  /** From `statusEnd`. */
  readonly end: ControlEnd;
  /** From `controlExchange`: the process that publishes tells the others. */
  readonly exchange: Exchange;
  readonly verifier: FeedVerifier;
  readonly states: NodeStates;
  /** Null while another process publishes. */
  readonly publisher: () => PublisherReport | null;
  readonly bounds: () => Promise<LogBounds>;
  readonly snapshots: () => Promise<readonly SnapshotReport[]>;
  readonly timers?: Timers;
}

const STATUS_RATE = { perSecond: 20, burst: 100 } as const;
const AT_ONCE = 16;
const REPORT_MS = 5_000;
const REPORT_KEPT_MS = 15_000;
const STATUS_ANSWER_MS = 5_000;

type Question = 'nodes' | 'feed';

/** @returns ends it */
export function startStatus(options: StatusOptions): () => Promise<void> {
  const {
    end,
    exchange,
    verifier,
    states,
    publisher,
    bounds,
    snapshots,
    timers = wholeSecondTimers,
  } = options;
  let told: { readonly report: PublisherReport; readonly at: number; readonly heardAt: number } | null = null;

  async function feedStatus(): Promise<FeedStatus> {
    const nodes = states.list();
    const [log, stream, kept] = await Promise.all([bounds(), streamBounds(end.bus, verifier), snapshots()]);
    const isRecent = told !== null && end.clock() - told.heardAt <= REPORT_KEPT_MS;
    return {
      log,
      publisher: publisher() ?? (isRecent ? (told?.report ?? null) : null),
      stream,
      snapshots: kept,
      nodes: nodes.length,
      late: nodes.filter(({ late }) => late).map(({ name }) => name),
    };
  }

  const stopAnswers = answerRequests(end, {
    kinds: ['status'],
    rate: STATUS_RATE,
    atOnce: AT_ONCE,
    async answer({ body }) {
      if (body === 'nodes') return { status: 'done', body: states.list() };
      if (body === 'feed') return { status: 'done', body: await feedStatus() };
      throw new FeedRefusedError('format');
    },
  });
  const stopHearing = end.bus.subscribe(subjectOf('publisher', '*'), (message) => {
    try {
      const { at, body } = openFrom(end, ['publisher'], message);
      if (told !== null && at <= told.at) return;
      told = { report: body as PublisherReport, at, heardAt: end.clock() };
    } catch (error) {
      if (!(error instanceof FeedRefusedError)) throw error;
      end.onRefused?.(error.reason);
    }
  });
  const telling = every({
    ms: REPORT_MS,
    task() {
      const report = publisher();
      if (report !== null) exchange.tell('publisher', report);
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
 * @throws BusError, FeedRefusedError, ExchangeError
 */
export function askNodes(exchange: Exchange): Promise<readonly NodeReport[]> {
  return ask(exchange, 'nodes') as Promise<readonly NodeReport[]>;
}

/** As `askNodes`. */
export function askFeed(exchange: Exchange): Promise<FeedStatus> {
  return ask(exchange, 'feed') as Promise<FeedStatus>;
}

async function ask(exchange: Exchange, question: Question): Promise<unknown> {
  const { status, body } = await exchange.ask('status', question, STATUS_ANSWER_MS);
  if (status !== 'done') throw new ExchangeError(status === 'busy' ? 'busy' : 'failed');
  return body;
}

/** What an operator tells a control process to do with the feed: erase what the broker holds, or begin another epoch. */

const FEED_COMMANDS = ['erase', 'epoch'] as const;
type FeedCommand = (typeof FEED_COMMANDS)[number];

interface CommandOptions {
  /** From `statusEnd`: a holder of control's credentials may command, and no node. */
  readonly end: ControlEnd;
  /** Destroys every hourly key and makes a new one. */
  readonly renewKeys: () => Promise<void>;
  /** @returns the new epoch of the database */
  readonly renewEpoch: () => Promise<string>;
}

const COMMAND_RATE = { perSecond: 1, burst: 4 } as const;
/** A command is the operator's of now: one that a broker kept and sends later is refused. */
const AGE_MAX_MS = 60_000;
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

  return answerRequests(end, {
    kinds: ['command'],
    rate: COMMAND_RATE,
    atOnce: 1,
    async answer({ at, body }) {
      if (!isNew(at)) throw new FeedRefusedError('replayed');
      if (body === 'erase') {
        await eraseFeed(end.bus, renewKeys);
        return { status: 'done', body: null };
      }
      if (body === 'epoch') return { status: 'done', body: await renewEpoch() };
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
 * @throws BusError, FeedRefusedError, ExchangeError
 */
export async function askToErase(exchange: Exchange): Promise<void> {
  await tellToDo(exchange, 'erase');
}

/** As `askToErase`. @returns the new epoch */
export async function askForEpoch(exchange: Exchange): Promise<string> {
  const epoch = await tellToDo(exchange, 'epoch');
  if (typeof epoch !== 'string') throw new ExchangeError('failed');
  return epoch;
}

async function tellToDo(exchange: Exchange, command: FeedCommand): Promise<unknown> {
  const { status, body } = await exchange.ask('command', command, COMMAND_ANSWER_MS);
  if (status !== 'done') throw new ExchangeError(status === 'busy' ? 'busy' : 'failed');
  return body;
}
