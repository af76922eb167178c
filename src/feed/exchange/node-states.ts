/** Control's side: the newest state of each node, in memory. Every control process hears them all. */
import type { Clock } from '../../base/clock.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import { createRequestRate } from '../bus/request-rate.ts';
import { type ControlEnd, opened, signedOf } from './control-end.ts';
import { subjectOf } from './node-end.ts';
import { type NodeState, nodeStateOf } from './state-body.ts';

export interface NodeReport {
  readonly name: string;
  /** Null: not heard of since this process started. */
  readonly state: NodeState | null;
  /** Since the state came, or since this process started. */
  readonly seconds: number;
  /** No state for 15 seconds. */
  readonly late: boolean;
}

/** Whether a node may answer without this key of the zone in DNSKEY: it has not reported the key, or it is late. */
export function isBehind(
  { state, late }: Pick<NodeReport, 'state' | 'late'>,
  zone: string,
  keyTag: number,
): boolean {
  return late || !state?.keyTags[zone]?.includes(keyTag);
}

export interface NodeStates {
  /** The nodes of the feed at present, in their order: removed ones are not among them. */
  list(): readonly NodeReport[];
  stop(): void;
}

export interface NodeStatesOptions {
  readonly end: ControlEnd;
  /** Names in `nodes.json`. */
  readonly names: () => readonly string[];
}

const LATE_MS = 15_000;
/** A node tells its state every five seconds, at each connection, and when keys come. More is not even decrypted. */
const RATE = { perSecond: 2, burst: 40 } as const;
/** Former starts of a node whose states are refused when they come again. */
const BOOTS_KEPT = 16;

interface Heard {
  readonly state: NodeState;
  /** By the node's clock: a later state is newer. */
  readonly at: number;
  /** By this process's clock. */
  readonly heardAt: number;
  readonly formerBoots: readonly string[];
}

export function collectNodeStates({ end, names }: NodeStatesOptions): NodeStates {
  const { bus, clock, onRefused, onError } = end;
  const startedAt = clock();
  const rate = createRequestRate(RATE, clock);
  const heard = new Map<string, Heard>();

  const stop = bus.subscribe(subjectOf('state', '*'), (message) => {
    try {
      const request = signedOf(end, ['state'], message);
      if (!rate.admits(request.node)) return;
      const { node, at, body } = opened(request, end);
      heard.set(node, next(heard.get(node), nodeStateOf(body), at, clock()));
    } catch (error) {
      if (error instanceof FeedRefusedError) onRefused?.(error.reason);
      else onError?.(error);
    }
  });

  function list(): NodeReport[] {
    const present = names();
    for (const name of heard.keys()) if (!present.includes(name)) heard.delete(name);
    return present.map((name) => reportOf(name, heard.get(name), startedAt, clock));
  }

  return {
    list,
    stop,
  };
}

function reportOf(name: string, found: Heard | undefined, startedAt: number, clock: Clock): NodeReport {
  const silentMs = Math.max(0, clock() - (found?.heardAt ?? startedAt));
  return { name, state: found?.state ?? null, seconds: silentMs / 1000, late: silentMs > LATE_MS };
}

/**
 * A state that is newer than the one before. Within one start of the node its clock decides. After another start the clock may have been
 * set back, so the start must be one that was not seen before.
 * @throws FeedRefusedError `replayed`
 */
function next(last: Heard | undefined, state: NodeState, at: number, heardAt: number): Heard {
  if (last === undefined) return { state, at, heardAt, formerBoots: [] };
  const { boot } = last.state;
  const isSameBoot = state.boot === boot;
  if (isSameBoot ? at <= last.at : last.formerBoots.includes(state.boot))
    throw new FeedRefusedError('replayed');
  const formerBoots = isSameBoot ? last.formerBoots : [...last.formerBoots, boot].slice(-BOOTS_KEPT);
  return { state, at, heardAt, formerBoots };
}
