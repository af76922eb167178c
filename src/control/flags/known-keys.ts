import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import type { Actor } from '../../http/actor.ts';
import type { Store } from '../../store/store.ts';

/** Milliseconds after which a key is looked up again beside its use: a notice of another process may be lost. */
const AGAIN_MS = 5_000;

/** What a lookup finds. */
export interface FoundKey {
  readonly actor: Actor;
  /** Milliseconds since the epoch. Null: never. */
  readonly expiresAt: number | null;
}

interface KnownKey extends FoundKey {
  readonly checkedAt: number;
  /** Of `ends`, when it was looked up. */
  readonly sureOf: number;
  isChecking: boolean;
}

interface KnownKeys {
  /** Null: unknown, or ended. Rejects when it is not known and the database is away. */
  actor(digest: string): Promise<Actor | null>;
  beginning(start: string): string[];
  close(): void;
}

/**
 * API keys by digest, so that an evaluation reads no SQL. A key that is deleted is looked up again at the next request, as the end of any
 * credential is told to all processes.
 * @param find reads the database
 */
export function openKnownKeys(
  store: Pick<Store, 'onWork'>,
  clock: Clock,
  find: (digest: string) => Promise<FoundKey | null>,
): KnownKeys {
  const keys = new Map<string, KnownKey>();
  /** Ends of credentials that were heard of. */
  let ends = 0;
  const unlisten = store.onWork('credentials', () => {
    ends++;
  });

  async function learn(digest: string): Promise<Actor | null> {
    const sureOf = ends;
    const checkedAt = clock();
    const found = await find(digest);
    keys.delete(digest);
    if (found === null) return null;
    const [oldest] = keys.keys();
    if (keys.size >= LIMITS.flagKeys && oldest !== undefined) keys.delete(oldest);
    keys.set(digest, { ...found, checkedAt, sureOf, isChecking: false });
    return isOver(found) ? null : found.actor;
  }

  /** An expiry tells nobody. */
  const isOver = ({ expiresAt }: FoundKey): boolean => expiresAt !== null && expiresAt <= clock();

  return {
    async actor(digest) {
      const known = keys.get(digest);
      if (known !== undefined && isOver(known)) return null;
      // A clock that was set back tells no age: without it a deleted key of which no notice came would go on until the old time.
      const age = Math.abs(clock() - (known?.checkedAt ?? 0));
      if (known === undefined || known.sureOf !== ends || age > LIMITS.flagsWithoutStoreMs)
        return learn(digest);
      if (age >= AGAIN_MS && !known.isChecking) {
        known.isChecking = true;
        void learn(digest).catch(() => {
          known.isChecking = false;
        });
      }
      return known.actor;
    },
    beginning: (start) =>
      [...keys]
        .filter(([digest, known]) => digest.startsWith(start) && !isOver(known))
        .map(([digest]) => digest),
    close: unlisten,
  };
}
