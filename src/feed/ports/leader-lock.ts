/** One process at a time publishes. The lock only chooses it: appends in sequence keep two from both writing the stream. */
export interface LeaderLock {
  /** Resolves when this process holds the lock. Rejects when the lock's service cannot be reached, or the signal is aborted. */
  acquire(signal: AbortSignal): Promise<Lease>;
}

export interface Lease {
  /** Aborted when the lock is no longer held, as far as this process can know. */
  readonly lost: AbortSignal;
  release(): Promise<void>;
}
