/** What carries the feed between control and nodes. Nobody trusts it: messages are signed and encrypted (`feed/message`). */
export type BusState = 'connected' | 'disconnected';

/**
 * `disconnected`: not sent, because there is no connection. `timeout`: perhaps done, nobody knows. `no_responders`: nobody listens there,
 * or the stream does not exist. `failed`: the broker refused it. `closed`: this end was closed.
 */
export type BusFault = 'disconnected' | 'timeout' | 'no_responders' | 'failed' | 'closed';

export class BusError extends Error {
  override readonly name = 'BusError';
  readonly reason: BusFault;

  constructor(reason: BusFault, cause?: unknown) {
    super(`the feed's broker: ${reason}`, { cause });
    this.reason = reason;
  }
}

/** Another message was appended since the one that was expected to be the last. Nothing was stored. */
export class AppendConflictError extends Error {
  override readonly name = 'AppendConflictError';

  constructor() {
    super('another message was appended to the stream of the feed');
  }
}

export interface StreamMessage {
  /** Place in the stream. It ascends; old messages are removed, from the first on. */
  readonly seq: number;
  readonly data: Uint8Array;
}

export type Responder = (data: Uint8Array, sentTo: string) => Promise<Uint8Array | null>;

/**
 * Implemented over NATS, and in memory for tests. Functions that return a promise reject with `BusError`, at the latest after their
 * time-out. Handlers must not throw.
 */
export interface Bus {
  /** To all present subscribers: at most once, in any order, without an acknowledgement. Never throws; without a connection it does nothing. */
  publish(subject: string, data: Uint8Array): void;
  /** Goes on after a reconnect. What was published in between is lost. `sentTo`: for a subject with a wildcard. @returns ends it */
  subscribe(subject: string, handler: (data: Uint8Array, sentTo: string) => void): () => void;
  /** Asks one of the responders. */
  request(subject: string, data: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /**
   * Answers requests, together with all others of the same subject.
   * @param handler null or a rejection: no answer; `sentTo` is the subject of the request, for a subject with a wildcard
   */
  respond(subject: string, handler: Responder): () => void;
  /**
   * Appends to the stream of the feed.
   * @param expectedLast `seq` of the stream's last message, 0 for none
   * @returns its `seq`
   * @throws AppendConflictError
   */
  append(data: Uint8Array, expectedLast: number): Promise<number>;
  /** Messages of the stream from `seq` on, or from the first that is left, ascending, at most `limit`; fewer where they are long. */
  readFrom(seq: number, limit: number): Promise<readonly StreamMessage[]>;
  /** Null for an empty stream. Control reads what was confirmed to it; a node may read a copy that lags behind. */
  readLast(): Promise<StreamMessage | null>;
  /** `seq` of the last message that was ever appended, 0 for none: also when it is no longer there. Nodes may not ask. */
  lastSeq(): Promise<number>;
  /** Removes every message of the stream and every part of a snapshot, also from the broker's disk. Numbers go on. Nodes may not do it. */
  eraseStreams(): Promise<void>;
  /** Stores a part of a snapshot under a name of letters, digits, dots and hyphens. */
  putChunk(name: string, data: Uint8Array): Promise<void>;
  getChunk(name: string): Promise<Uint8Array | null>;
  /** Removes a part, and overwrites it on the broker's disk. A part that does not exist is no fault. */
  deleteChunk(name: string): Promise<void>;
  /** Lets the broker keep at least so many octets of parts; it never makes that less. Nodes may not ask. */
  reserveChunks(octets: number): Promise<void>;
  /** Names of the stored parts, in any order. Nodes may not ask. */
  chunkNames(): Promise<readonly string[]>;
  state(): BusState;
  /** What the broker's first answer on this connection took, milliseconds; 0 without a connection. */
  roundTrip(): number;
  /** Called after each change of the state. @returns ends it */
  onState(listener: (state: BusState) => void): () => void;
  /** Resolves when nothing is called any more. */
  close(): Promise<void>;
}

/** Subjects and streams of version 1. Permissions of nodes are written in these names. */
export const SUBJECTS = {
  /** Each batch at once. Written by the publisher alone. */
  live: 'uqrp.v1.live',
  /** The same bytes, stored in the stream. */
  log: 'uqrp.v1.log',
  /** Heartbeats. */
  head: 'uqrp.v1.head',
  /** Questions to control: a subject for each node, so that one cannot ask in the place of another. */
  get: 'uqrp.v1.get',
  /** Pages of a snapshot: a subject for each, which only the node knows that opened it. */
  page: 'uqrp.v1.page',
  /** What a node counted, and how it is: a subject for each node. */
  meter: 'uqrp.v1.meter',
  state: 'uqrp.v1.state',
  /** What a node asks of providers: a subject for each node. */
  ask: 'uqrp.v1.ask',
  /** What the command line asks control about nodes and feed. */
  status: 'uqrp.v1.status',
  /** What the command line tells control to do. */
  command: 'uqrp.v1.command',
  /** Hourly keys and secrets: a subject for each node. */
  keys: 'uqrp.v1.keys',
  /** Questions of nodes for their hourly keys, and for their secrets: a subject for each node. */
  askKeys: 'uqrp.v1.get.keys',
  /** The command line asks for a snapshot. Nodes may not. */
  makeSnapshot: 'uqrp.v1.make',
  askSecrets: 'uqrp.v1.get.secrets',
  /** Parts of snapshots, a name each. */
  chunks: 'uqrp.v1.snap',
} as const;

export const STREAMS = { feed: 'UQRP_FEED', chunks: 'UQRP_SNAP' } as const;

const CHUNK_NAME = /^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$/;

/** @throws RangeError for a name that is none: a wildcard would address other chunks */
export function chunkSubject(name: string): string {
  if (!CHUNK_NAME.test(name)) throw new RangeError('a chunk has a name of letters, digits, dots and hyphens');
  return `${SUBJECTS.chunks}.${name}`;
}

/** The subject of one node among those of `base`. @param node `*`: where control hears all nodes */
export function subjectOfNode(base: string, node: string): string {
  return `${base}.${node}`;
}

/** The node of a subject that `subjectOfNode` made: the broker lets a node use its own alone. */
export function nodeOfSubject(subject: string): string {
  return subject.slice(subject.lastIndexOf('.') + 1);
}

/** Where a node gets its keys. */
export function keysSubject(node: string): string {
  return `${SUBJECTS.keys}.${node}`;
}

/** Where the pages of an open snapshot are asked for. @param id hex digits */
export function pageSubject(id: string): string {
  return `${SUBJECTS.page}.${id}`;
}

const ATTEMPTS = 3;

/** Makes a call again whose answer did not come in time, three times in all. For calls that do no harm twice. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      const isLost = error instanceof BusError && error.reason === 'timeout';
      if (!isLost || attempt === ATTEMPTS) throw error;
    }
  }
}
