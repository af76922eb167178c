import type { Clock } from '../../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { Sessions } from './sessions.ts';

/** What use cases depend on, one thing each. A use case names those that it needs: `HasStore & HasClock`. */
export interface HasStore {
  readonly store: Store;
}

export interface HasClock {
  readonly clock: Clock;
}

export interface HasRandom {
  /** Cryptographically secure random bytes: tokens are made of them. */
  readonly random: (bytes: number) => Uint8Array;
}

export interface HasIds {
  /** A new UUID in lower case. */
  readonly newId: () => string;
}

export interface HasZoneLength {
  /** Letters of the longest configured zone, without a trailing dot: it bounds record keys. */
  readonly zoneLength: number;
}

export interface HasSessions {
  readonly sessions: Sessions;
}
