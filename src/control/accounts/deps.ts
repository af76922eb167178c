import type { Clock } from '../../core/clock.ts';
import type { Store } from '../store/store.ts';
import type { Sessions } from './sessions.ts';

/** What every use case is handed. */
export interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  /** Cryptographically secure random bytes: tokens are made of them. */
  readonly random: (bytes: number) => Uint8Array;
  /** A new UUID in lower case. */
  readonly newId: () => string;
  /** Letters of the longest configured zone, without a trailing dot: it bounds record keys. */
  readonly zoneLength: number;
  readonly sessions: Sessions;
}
