import type { Clock } from '../base/time.ts';
import type { Actor } from '../http/actor.ts';
import type { Store, Tx } from '../store/store.ts';

/** Dependencies of use cases. A use case names only those that it needs: `HasStore & HasClock`. */
export interface HasStore {
  readonly store: Store;
}

/**
 * Runs a unit of work of an actor, as `Store.write` does, once it holds the actor's customer and credential (`holdActor`).
 * @param work gets the actor with the role that they have in this unit
 * @param others further customers whose rows the unit holds
 * @throws AppError 401 when the credential has ended since the request began
 */
export type RunUnit = <A extends Actor, T>(
  actor: A,
  work: (tx: Tx, held: A) => Promise<T>,
  others?: readonly string[],
) => Promise<T>;

export interface HasUnit {
  /**
   * Runs the one unit of work of the use case, whose value is its result. That of a request also takes the idempotency key, stores the
   * result under it, and notes where the unit stands in the feed (`unit.ts`). Elsewhere it is `writeAs`.
   */
  readonly unit: RunUnit;
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

export interface HasTransparencyLog {
  /** Whether what datasets publish goes into the transparency log, once that has begun. Absent: it does not. */
  readonly isLogged?: boolean | undefined;
}

export interface HasZoneLength {
  /** Letters of the longest zone, without a trailing dot. It bounds record keys. */
  readonly zoneLength: number;
}
