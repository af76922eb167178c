/** How a node is: what it tells control every five seconds. */
import { FeedRefusedError } from '../batch/refusal.ts';

export interface NodeState {
  /** Differs at every start of the node. */
  readonly boot: string;
  readonly version: string;
  /** Last change in its view, and the database that the view is of; null: of none yet. */
  readonly seq: number;
  readonly epoch: string | null;
  readonly lag: { readonly changes: number; readonly seconds: number };
  /** Since the last heartbeat that was verified; null: none since the start. */
  readonly heartbeatSeconds: number | null;
  readonly stale: boolean;
  /** By zone: key tags of the DNSSEC keys that it signs with now. */
  readonly keyTags: Readonly<Record<string, readonly number[]>>;
  /** Since its view was built from a snapshot or from pages; null: it is the view of an earlier start. */
  readonly viewSeconds: number | null;
  /** Octets of the file of unsent counts. */
  readonly spoolOctets: number;
}

const TEXT_MAX = 64;
const ZONES_MAX = 32;
const ZONE_MAX = 255;
const TAGS_MAX = 16;

export function stateBody(state: NodeState): unknown {
  return state;
}

/** @throws FeedRefusedError `format` for anything but a state: an unknown member is left out */
export function nodeStateOf(body: unknown): NodeState {
  const { boot, version, seq, epoch, lag, heartbeatSeconds, stale, keyTags, viewSeconds, spoolOctets } =
    objectOf(body);
  const { changes, seconds } = objectOf(lag);
  if (typeof stale !== 'boolean') throw new FeedRefusedError('format');
  return {
    boot: textOf(boot),
    version: textOf(version),
    seq: countOf(seq),
    epoch: epoch === null ? null : textOf(epoch),
    lag: { changes: countOf(changes), seconds: secondsOf(seconds) },
    heartbeatSeconds: heartbeatSeconds === null ? null : secondsOf(heartbeatSeconds),
    stale,
    keyTags: tagsOf(keyTags),
    viewSeconds: viewSeconds === null ? null : secondsOf(viewSeconds),
    spoolOctets: countOf(spoolOctets),
  };
}

function tagsOf(value: unknown): NodeState['keyTags'] {
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
