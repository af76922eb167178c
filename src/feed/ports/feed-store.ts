/** One process at a time publishes. The lock only chooses it: appends in sequence keep two from both writing the stream. */
export interface LeaderLock {
  /** Resolves when this process holds the lock. Rejects when the lock's service cannot be reached, or the signal is aborted. */
  acquire(signal: AbortSignal): Promise<LeaderLease>;
}

export interface LeaderLease {
  /** Aborted when the lock is no longer held, as far as this process can know. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}

/** Where the control side keeps hourly keys, for all its processes. */
export interface StoredKey {
  /** The period of writing, see `periods.ts`. Each has one key at most. */
  readonly period: number;
  /** 32 random octets. */
  readonly secret: Uint8Array;
}

/** Deleted keys cannot be restored. */
export interface FeedKeyStore {
  /** Ascending by period. Rejects when a key cannot be decrypted. */
  read(): Promise<readonly StoredKey[]>;
  /** Adds the key, unless its period has one: then that one stays. */
  add(key: StoredKey): Promise<void>;
  /** Deletes the keys of periods before `first` and after `last`. */
  keep(first: number, last: number): Promise<void>;
  /** Deletes all keys and adds this one, in one unit of work. */
  replaceAll(key: StoredKey): Promise<void>;
}
