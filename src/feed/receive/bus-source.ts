/** The log of changes over the bus: live, else from the stream, else from control. */

import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import type { Change } from '../../protocol/change.ts';
import { type Bus, BusError, SUBJECTS } from '../bus/bus.ts';
import { type FeedHead, openBatch, openHeartbeat, readRows } from '../message/batch.ts';
import type { FeedKeyRing, FeedVerifier } from '../message/keys.ts';
import type { Rpc } from '../message/rpc.ts';
import type { ChangeSource, LogBounds } from '../ports/change-source.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';
import { createControlClient } from './control-client.ts';
import { createLiveChanges } from './live-changes.ts';
import {
  createReadAhead,
  createRepair,
  createStreamReader,
  type StreamReader,
  type StreamReads,
} from './repair.ts';

interface BusSourceOptions {
  /** Not closed by the source. */
  readonly bus: Bus;
  readonly verifier: FeedVerifier;
  /** The hourly keys that the node has at present. */
  readonly keys: () => FeedKeyRing;
  readonly rpc: Pick<Rpc, 'askPlain'>;
  readonly clock: Clock;
  readonly timers?: Timers | undefined;
  /** A message that was not used. */
  readonly onRefused?: (reason: FeedRefusal) => void;
  /** Changes that did not come live were read from there. */
  readonly onRepair?: (from: 'stream' | 'control', changes: number) => void;
}

export interface BusSource extends ChangeSource {
  /** Ends the subscriptions. */
  close(): void;
}

/** A batch that was overtaken comes within this time; later it counts as lost. */
const HOLE_MS = 100;
/** While the last heartbeat is younger, nobody needs to be asked where the log ends. Heartbeats come twice a second. */
const HEARTBEAT_MS = 2_000;
/** Clocks of control processes may differ by less. */
const CLOCK_BACK_MS = 10_000;

export function openBusSource(options: BusSourceOptions): BusSource {
  const { bus, verifier, keys, clock, timers = realTimers, onRefused, onRepair } = options;
  const listeners = new Set<(seq: number) => void>();
  const live = createLiveChanges();
  const ahead = createReadAhead();
  const readerOf = (reads: StreamReads): StreamReader =>
    createStreamReader({ bus: reads, verifier, keys, ahead, placeAfter: live.placeAfter });
  const stream = readerOf(bus);
  /** The newest proof of where the log ends. */
  let known: FeedHead | null = null;
  let knownAt: number | null = null;
  let heardAt: number | null = null;
  let heartbeatAt = 0;
  /** The newest live batch: where the log ends, but no proof that this is now. */
  let newest: { readonly epoch: string; readonly to: number; readonly at: number } | null = null;
  /** Whether the reader had everything, or live changes, when it asked last: then the next change may only be late. */
  let isLive = false;
  let wakeHole = (): void => {};
  let isClosed = false;

  function heard(head: FeedHead): void {
    heardAt = clock();
    knownAt = heardAt;
    known = head;
  }
  const control = createControlClient({
    ...options,
    onAnswer(head, isLog) {
      heardAt = clock();
      // Control's clock was set back: only an answer proves that. Without it heartbeats would count as old ones until it has caught up.
      if (head.at < heartbeatAt - CLOCK_BACK_MS) heartbeatAt = head.at;
      // A page proves nothing of where the log ends now.
      if (isLog) heard(head);
    },
  });

  function announce(seq: number): void {
    for (const listener of listeners) listener(seq);
  }

  /** Counts a refusal; any other error is a fault of this program. */
  function refused(error: unknown): void {
    if (!(error instanceof FeedRefusedError)) throw error;
    onRefused?.(error.reason);
  }

  function onLive(message: Uint8Array): void {
    try {
      const batch = openBatch(message, verifier);
      if (newest === null || batch.at >= newest.at) newest = batch;
      const reason = live.receive(batch, (signed) => readRows(signed, keys()));
      if (reason !== null) onRefused?.(reason);
      wakeHole();
      announce(batch.to);
    } catch (error) {
      refused(error);
    }
  }

  function onHeartbeat(message: Uint8Array): void {
    try {
      const head = openHeartbeat(message, verifier, { last: heartbeatAt, now: clock() });
      heartbeatAt = head.at;
      const isNews = known === null || head.head > known.head || head.epoch !== known.epoch;
      heard(head);
      if (isNews) announce(head.head);
    } catch (error) {
      refused(error);
    }
  }

  /** Times of control decide: after a restored backup a later heartbeat has a lower head than an earlier batch. */
  function headOf(head: FeedHead): number {
    const isNewer = newest !== null && newest.epoch === head.epoch && newest.at >= head.at;
    return isNewer && newest !== null ? Math.max(head.head, newest.to) : head.head;
  }

  // After the clock was set back it lies ahead: that proves nothing about now.
  const isFresh = (): boolean => knownAt !== null && Math.abs(clock() - knownAt) <= HEARTBEAT_MS;

  /** Whether the log has another epoch by now. */
  const isOther = (epoch: string): boolean => known !== null && known.epoch !== epoch;

  function reach(): void {
    if (isClosed) throw new BusError('closed');
    if (bus.state() === 'disconnected') throw new BusError('disconnected');
  }

  async function bounds(): Promise<LogBounds> {
    reach();
    if (known !== null && isFresh()) return { epoch: known.epoch, oldest: known.oldest, head: headOf(known) };
    try {
      const { epoch, oldest, head } = await control.bounds();
      return { epoch, oldest, head };
    } catch (error) {
      // Control is away: the stream may still have what this node lacks.
      const ends = await stream.ends().catch(() => null);
      if (ends === null) throw error;
      const head = known?.epoch === ends.epoch ? Math.max(known.head, ends.to) : ends.to;
      return { epoch: ends.epoch, oldest: ends.from, head, isCopy: true };
    }
  }

  /** Waits for a batch that was overtaken. One timer for all of it: a clock that is set back must not make it longer. */
  async function holeCloses(epoch: string, seq: number, limit: number): Promise<readonly Change[]> {
    let isOver = false;
    const cancel = timers.after(HOLE_MS, () => {
      isOver = true;
      wakeHole();
    });
    let found: readonly Change[] = [];
    while (found.length === 0 && !isOver && bus.state() === 'connected') {
      await new Promise<void>((resolve) => {
        wakeHole = resolve;
      });
      found = live.take(epoch, seq, limit);
    }
    cancel();
    return found;
  }

  const repair = createRepair({
    bus,
    roundTrip: () => bus.roundTrip(),
    readerOf,
    refused,
    timers,
    async askControl(epoch, seq, limit) {
      reach();
      const { head, changes } = await control.since(seq, limit);
      // Of another database: `bounds` tells the follower.
      return head.epoch === epoch ? changes : [];
    },
  });

  async function since(epoch: string, seq: number, limit: number): Promise<readonly Change[]> {
    reach();
    if (isOther(epoch)) return [];
    let found = live.take(epoch, seq, limit);
    isLive ||= found.length > 0;
    if (found.length > 0) return found;
    const isBehind = known !== null && headOf(known) > seq;
    if (!isBehind && isFresh()) {
      isLive = true;
      return [];
    }
    if (isLive && isBehind && isFresh()) found = await holeCloses(epoch, seq, limit);
    if (found.length > 0) return found;
    reach();
    isLive = false;
    const { from, changes } = await repair(epoch, seq, limit);
    if (changes.length > 0) onRepair?.(from, changes.length);
    return changes;
  }

  const stops = [
    bus.subscribe(SUBJECTS.live, onLive),
    bus.subscribe(SUBJECTS.head, onHeartbeat),
    bus.onState((state) => {
      wakeHole();
      isLive = false;
      if (state !== 'connected') return;
      announce(known?.head ?? 0);
    }),
  ];

  return {
    bounds,
    async since(epoch, seq, limit) {
      const found = await since(epoch, seq, limit);
      // Control has pruned its log: older changes are not promised any more, although a copy may have them.
      const oldest = known?.oldest ?? 1;
      return found.filter((change) => change.seq >= oldest);
    },
    async openSnapshot() {
      reach();
      return control.openSnapshot();
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    heardAt: () => heardAt,
    close() {
      isClosed = true;
      for (const stop of stops) stop();
      listeners.clear();
      wakeHole();
    },
  };
}
