/** What an operator tells a control process to do with the feed: erase what the broker holds, or begin another epoch. */
import { FeedRefusedError } from '../batch/refusal.ts';
import type { Bus } from '../bus/bus.ts';
import { answerRequests, type ControlEnd } from './control-end.ts';
import { type Exchange, ExchangeError } from './node-end.ts';

export const FEED_COMMANDS = ['erase', 'epoch'] as const;
export type FeedCommand = (typeof FEED_COMMANDS)[number];

export interface CommandOptions {
  /** From `statusEnd`: a holder of control's credentials may command, and no node. */
  readonly end: ControlEnd;
  /** Destroys every hourly key and makes a new one. */
  readonly renewKeys: () => Promise<void>;
  /** @returns the new epoch of the database */
  readonly renewEpoch: () => Promise<string>;
}

const RATE = { perSecond: 1, burst: 4 } as const;
/** A command is the operator's of now: one that a broker kept and sends later is refused. */
const AGE_MAX_MS = 60_000;
/** A purge of gigabytes takes seconds. */
const ANSWER_MS = 50_000;

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
    rate: RATE,
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
  await ask(exchange, 'erase');
}

/** As `askToErase`. @returns the new epoch */
export async function askForEpoch(exchange: Exchange): Promise<string> {
  const epoch = await ask(exchange, 'epoch');
  if (typeof epoch !== 'string') throw new ExchangeError('failed');
  return epoch;
}

async function ask(exchange: Exchange, command: FeedCommand): Promise<unknown> {
  const { status, body } = await exchange.ask('command', command, ANSWER_MS);
  if (status !== 'done') throw new ExchangeError(status === 'busy' ? 'busy' : 'failed');
  return body;
}
