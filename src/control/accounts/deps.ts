import type { Clock } from '../../base/clock.ts';
import type { Store } from '../../store/store.ts';
import type { Sessions } from './sessions.ts';
import type { SignInCodes } from './sign-in/codes.ts';

/** Dependencies of use cases. A use case names only those that it needs: `HasStore & HasClock`. */
export interface HasStore {
  readonly store: Store;
}

export interface HasClock {
  readonly clock: Clock;
}

export interface HasRandom {
  /** Cryptographically secure random octets, for tokens. */
  readonly random: (bytes: number) => Uint8Array;
}

export interface HasIds {
  /** A lower-case UUID. */
  readonly newId: () => string;
}

export interface HasZoneLength {
  /** Letters of the longest zone, without a trailing dot. It bounds record keys. */
  readonly zoneLength: number;
}

export interface HasSessions {
  readonly sessions: Sessions;
}

export interface HasCodes {
  readonly codes: SignInCodes;
}
