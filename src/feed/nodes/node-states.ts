/** Control's side: the newest state of each node, in memory. Every control process hears them all. */

import { every } from '../../base/lifecycle/loop.ts';
import { backgroundTimers, realTimers, type Timers, wholeSecondTimers } from '../../base/lifecycle/timers.ts';
import type { Bus } from '../bus/bus.ts';
import { createRequestRate } from '../bus/node-budgets.ts';
import { jsonUnderKey } from '../message/message.ts';
import { type ControlEnd, openQuestion, type Rpc, subjectOf } from '../message/rpc.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

export interface NodeReport {
  readonly name: string;
  /** Null: not heard of since this process started. */
  readonly state: NodeState | null;
  /** When its view got `state.seq`, milliseconds since the epoch by this process's clock, plus the way of the message; null: not known. */
  readonly appliedAt: number | null;
  /** Since the state came, or since this process started. */
  readonly seconds: number;
  /** No state for 15 seconds. */
  readonly late: boolean;
}

/** Whether resolvers may hold DNSKEY without this key of the zone from a node: it has not reported the key as ready, or it is late. */
export function isNodeBehind(
  { state, late }: Pick<NodeReport, 'state' | 'late'>,
  zone: string,
  keyTag: number,
): boolean {
  return late || !state?.readyTags[zone]?.includes(keyTag);
}

export interface NodeStates {
  /** The nodes of the feed at present, in their order: removed ones are not among them. */
  list(): readonly NodeReport[];
  /** @param listener called after a state was heard. @returns ends it */
  onHeard(listener: () => void): () => void;
  stop(): void;
}

interface NodeStatesOptions {
  readonly end: ControlEnd;
  /** Names in `nodes.json`. */
  readonly names: () => readonly string[];
  /** Says how long a node was silent: a clock that is set does not. */
  readonly elapsed?: Timers['elapsed'] | undefined;
}

const LATE_MS = 15_000;
/** A node tells its state every five seconds, at each connection, when keys come, and once a second while its view moves. More is not even decrypted. */
const RATE = { perSecond: 2, burst: 40 } as const;
/** Former starts of a node whose states are refused when they come again. */
const BOOTS_KEPT = 16;

/** Which of two states of one start is the newer one. */
interface Order {
  /** Null: of a release before 0.2, whose clock decides. */
  readonly number: number | null;
  /** By the node's clock, which may be set back. */
  readonly at: number;
}

interface Heard {
  readonly state: NodeState;
  readonly order: Order;
  /** By this process's clock. */
  readonly heardAt: number;
  /** Milliseconds of `elapsed`. */
  readonly silentSince: number;
  readonly formerBoots: readonly string[];
}

export function collectNodeStates({
  end,
  names,
  elapsed = realTimers.elapsed,
}: NodeStatesOptions): NodeStates {
  const { bus, clock, onRefused, onError } = end;
  const startedAt = elapsed();
  const rate = createRequestRate(RATE, clock);
  const heard = new Map<string, Heard>();
  const listeners = new Set<() => void>();

  const stop = bus.subscribe(subjectOf('state', '*'), (message) => {
    try {
      const told = openQuestion(end, ['state'], message);
      if (!rate.admits(told.from)) return;
      const body = jsonUnderKey(told, end.ring());
      const state = nodeStateOf(body);
      const order = { number: numberOf(body), at: told.at };
      const formerBoots = bootsBefore(heard.get(told.from), state, order);
      heard.set(told.from, { state, order, formerBoots, heardAt: clock(), silentSince: elapsed() });
      for (const listener of listeners) listener();
    } catch (error) {
      if (error instanceof FeedRefusedError) onRefused?.(error.reason);
      else onError?.(error);
    }
  });

  function list(): NodeReport[] {
    const present = names();
    for (const name of heard.keys()) if (!present.includes(name)) heard.delete(name);
    return present.map((name) => {
      const found = heard.get(name);
      return reportOf(name, found, elapsed() - (found?.silentSince ?? startedAt));
    });
  }

  return {
    list,
    onHeard(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop,
  };
}

function reportOf(name: string, found: Heard | undefined, silentMs: number): NodeReport {
  const seqSeconds = found?.state.seqSeconds ?? null;
  return {
    name,
    state: found?.state ?? null,
    appliedAt: seqSeconds === null ? null : found!.heardAt - Math.round(seqSeconds * 1000),
    seconds: silentMs / 1000,
    late: silentMs > LATE_MS,
  };
}

/**
 * The former starts of a node, for a state that is newer than the last one. After another start its numbers begin anew, so the start must be
 * one that was not seen before.
 * @throws FeedRefusedError `replayed`
 */
function bootsBefore(last: Heard | undefined, { boot }: NodeState, order: Order): readonly string[] {
  if (last === undefined) return [];
  const { state, formerBoots } = last;
  const isSameBoot = boot === state.boot;
  if (isSameBoot ? !isNewer(order, last.order) : formerBoots.includes(boot))
    throw new FeedRefusedError('replayed');
  return isSameBoot ? formerBoots : [...formerBoots, state.boot].slice(-BOOTS_KEPT);
}

const isNewer = (order: Order, last: Order): boolean =>
  order.number === null || last.number === null ? order.at > last.at : order.number > last.number;

/** How a node is: what it tells control every five seconds, and soon after its view moved. */

/** By zone. */
export type KeyTags = Readonly<Record<string, readonly number[]>>;

export interface NodeState {
  /** Differs at every start of the node. */
  readonly boot: string;
  readonly version: string;
  /** Last change in its view, and the database that the view is of; null: of none yet. */
  readonly seq: number;
  /** Since the view has `seq`; null: not known. */
  readonly seqSeconds: number | null;
  readonly epoch: string | null;
  readonly lag: { readonly changes: number; readonly seconds: number };
  /** Since the last heartbeat that was verified; null: none since the start. */
  readonly heartbeatSeconds: number | null;
  readonly stale: boolean;
  /** Of the DNSSEC keys that it answers in DNSKEY now. */
  readonly keyTags: KeyTags;
  /** Those of them that it has answered in DNSKEY, since its start, for as long as resolvers hold an earlier answer. */
  readonly readyTags: KeyTags;
  /** Since its view was built from a snapshot or from pages; null: it is the view of an earlier start. */
  readonly viewSeconds: number | null;
  /** Octets of the file of unsent counts. */
  readonly spoolOctets: number;
}

const TEXT_MAX = 64;
const ZONES_MAX = 32;
const ZONE_MAX = 255;
const TAGS_MAX = 16;

/** @throws FeedRefusedError `format` for anything but a state: an unknown member is left out */
function nodeStateOf(body: unknown): NodeState {
  const {
    boot,
    version,
    seq,
    seqSeconds = null,
    epoch,
    lag,
    heartbeatSeconds,
    stale,
    keyTags,
    // A release before this member: what it answers counts as ready.
    readyTags = keyTags,
    viewSeconds,
    spoolOctets,
  } = objectOf(body);
  const { changes, seconds } = objectOf(lag);
  if (typeof stale !== 'boolean') throw new FeedRefusedError('format');
  return {
    boot: textOf(boot),
    version: textOf(version),
    seq: countOf(seq),
    seqSeconds: seqSeconds === null ? null : secondsOf(seqSeconds),
    epoch: epoch === null ? null : textOf(epoch),
    lag: { changes: countOf(changes), seconds: secondsOf(seconds) },
    heartbeatSeconds: heartbeatSeconds === null ? null : secondsOf(heartbeatSeconds),
    stale,
    keyTags: tagsOf(keyTags),
    readyTags: tagsOf(readyTags),
    viewSeconds: viewSeconds === null ? null : secondsOf(viewSeconds),
    spoolOctets: countOf(spoolOctets),
  };
}

function numberOf(body: unknown): number | null {
  const { number } = objectOf(body);
  return number === undefined ? null : countOf(number);
}

function tagsOf(value: unknown): KeyTags {
  const zones = Object.entries(objectOf(value));
  if (zones.length > ZONES_MAX) throw new FeedRefusedError('format');
  return Object.fromEntries(
    zones.map(([zone, tags]) => {
      const isList = Array.isArray(tags) && tags.length <= TAGS_MAX && zone.length <= ZONE_MAX;
      if (!isList || !tags.every((tag) => countOf(tag) <= 0xffff)) throw new FeedRefusedError('format');
      return [zone, tags as number[]];
    }),
  );
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FeedRefusedError('format');
  return value as Record<string, unknown>;
}

/** Printable ASCII: it is shown on a terminal. */
function textOf(value: unknown): string {
  if (typeof value !== 'string' || value.length > TEXT_MAX || !/^[\x20-\x7e]+$/.test(value))
    throw new FeedRefusedError('format');
  return value;
}

function countOf(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new FeedRefusedError('format');
  return value as number;
}

function secondsOf(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) throw new FeedRefusedError('format');
  return value;
}

/** A node's side: tells control how it is, every five seconds, at once after a connection, and soon after its view has got changes. */

interface StateReportsOptions {
  readonly bus: Bus;
  readonly rpc: Pick<Rpc, 'tell'>;
  readonly state: () => NodeState;
  /** Called after keys came, without which nothing can be sent. @returns ends it */
  readonly onKeys: (listener: () => void) => () => void;
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers | undefined;
  readonly soon?: Timers;
}

/** Control calls a node late that was silent for three of these. */
export const STATE_MS = 5_000;

/** Milliseconds from the first change until control is told of it, and between two such reports: control admits two a second. */
const MOVED_MS = 100;
const BETWEEN_MOVES_MS = 1_000;

export interface StateReports {
  /** The view has got changes: control is told soon, for those who wait for a write. */
  moved(): void;
  stop(): Promise<void>;
}

export function startStateReports(options: StateReportsOptions): StateReports {
  const { bus, rpc, state, onKeys, onError, timers = wholeSecondTimers, soon = backgroundTimers } = options;
  let number = 0;
  const tell = (): void => rpc.tell('state', { ...state(), number: ++number });
  const stopListening = bus.onState((now) => {
    if (now === 'connected') tell();
  });
  const stopKeys = onKeys(tell);
  tell();
  const reports = every({ ms: STATE_MS, task: tell, onError, timers });
  /** Cancels what comes next for moves; null: nothing does. */
  let cancel: (() => void) | null = null;
  let hasMoved = false;

  function tellMoves(): void {
    cancel = null;
    if (!hasMoved) return;
    hasMoved = false;
    cancel = soon.after(BETWEEN_MOVES_MS, tellMoves);
    try {
      tell();
    } catch (error) {
      onError(error);
    }
  }

  return {
    moved() {
      hasMoved = true;
      cancel ??= soon.after(MOVED_MS, tellMoves);
    },
    async stop() {
      cancel?.();
      cancel = (): void => {};
      stopListening();
      stopKeys();
      await reports.stop();
    },
  };
}
