/** What carries the feed between control and nodes. Nobody trusts it: messages are signed and encrypted (`feed/batch`). */
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
  /** Messages of the stream from `seq` on, or from the first that is left, ascending, at most `limit`. */
  readFrom(seq: number, limit: number): Promise<readonly StreamMessage[]>;
  /** Null for an empty stream. */
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
  /** Names of the stored parts, in any order. Nodes may not ask. */
  chunkNames(): Promise<readonly string[]>;
  state(): BusState;
  /** Called after each change of the state. @returns ends it */
  onState(listener: (state: BusState) => void): () => void;
  /** Resolves when nothing is called any more. */
  close(): Promise<void>;
}
