import { realRandom } from '../../base/chance.ts';
import { every, type Repeating } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Clock } from '../../base/time.ts';
import { KeyError } from '../../dns/dnssec/key-set.ts';
import { dnskeyTags, isPresigned, type NodeKeySetData } from '../../dns/dnssec/node-key-set.ts';
import { DNSKEY_TTL } from '../../dns/dnssec/signer.ts';
import type { KeyTags, NodeState } from '../../feed/nodes/node-states.ts';
import {
  type NodeKeys,
  type PeriodSecret,
  periodsMark,
  secretOf,
  TICKET_PERIOD_MS,
  zonesMark,
} from '../../feed/ports/node-keys.ts';

/** The secrets of a node as its threads use them. */
export interface LiveSecrets {
  /** One set a zone, in the order of the zones; empty where answers are not signed. */
  readonly keys: readonly NodeKeySetData[];
  readonly cookies: readonly PeriodSecret[];
  /** Empty: the node makes its own. */
  readonly tickets: readonly PeriodSecret[];
}

/**
 * Each differs from that of the last reading if what it marks may differ. There are two, because cookies and tickets have a new secret
 * every day or half day, and other keys void every cached answer and signature.
 */
interface SecretsMarks {
  readonly keys: string;
  /** Of cookies and tickets. */
  readonly periods: string;
}

/** One reading of a node's secrets. */
interface SecretsReading {
  readonly marks: SecretsMarks;
  readonly secrets: LiveSecrets;
}

/** Rejects when the source cannot be reached, lacks a zone, or has unusable keys. */
type ReadSecrets = () => Promise<SecretsReading>;

/** @param zones whose keys the node needs; empty: it does not sign */
export function readSecrets(source: NodeKeys, zones: readonly string[]): ReadSecrets {
  let last: SecretsReading | null = null;
  return async () => {
    const found = await source.read();
    const ordered = zones.map((zone) => {
      const secret = found.zones.find((each) => each.zone === zone);
      if (secret !== undefined) return secret;
      throw new KeyError(
        `nobody has made the signing keys of ${zone} yet; a process of the control role does`,
      );
    });
    if (found.cookies.length === 0) throw new KeyError('there is no secret for server cookies');
    const { cookies, tickets } = found;
    const marks = { keys: zonesMark(ordered), periods: periodsMark(found) };
    const keys =
      last?.marks.keys === marks.keys
        ? last.secrets.keys
        : ordered.map(({ zone, document }) => parsed(zone, document));
    last = { marks, secrets: { keys, cookies, tickets } };
    return last;
  };
}

function parsed(zone: string, document: string): NodeKeySetData {
  let data: unknown;
  try {
    data = JSON.parse(document);
  } catch {
    // The error would quote the text.
  }
  if (typeof data !== 'object' || data === null || (data as { zone?: unknown }).zone !== zone)
    throw new KeyError(`the signing keys of ${zone} are not readable`);
  return data as NodeKeySetData;
}

/** The keys that a node answers in DNSKEY: a rollover waits until every node reports the new one. */
export interface AnsweredKeys {
  /** These are in use on all threads. */
  used(keys: readonly NodeKeySetData[]): void;
  report(): Pick<NodeState, 'keyTags' | 'readyTags'>;
}

const TTL_MS = DNSKEY_TTL * 1000;

/**
 * A key is ready (RFC 7583 section 2) once this start has answered it for the TTL of DNSKEY: before, resolvers may hold an answer without it, of the
 * time that the node was away from control, and find bogus what it signs. No key is reported while a start without control would answer earlier
 * ones, as with a full disk.
 */
export function watchAnsweredKeys(
  source: Pick<NodeKeys, 'isKept'>,
  elapsed: Timers['elapsed'],
): AnsweredKeys {
  let sets: readonly { readonly zone: string; readonly since: ReadonlyMap<number, number> }[] = [];

  function tags(isReported: (since: number) => boolean): KeyTags {
    return Object.fromEntries(
      sets.map(({ zone, since }) => [zone, [...since.keys()].filter((tag) => isReported(since.get(tag)!))]),
    );
  }

  return {
    used(keys) {
      const before = sets;
      sets = keys.map((set) => {
        const known = before.find(({ zone }) => zone === set.zone)?.since;
        const present = isPresigned(set) ? dnskeyTags(set) : set.keys.map(({ keyTag }) => keyTag);
        return { zone: set.zone, since: new Map(present.map((tag) => [tag, known?.get(tag) ?? elapsed()])) };
      });
    },
    report() {
      if (source.isKept?.() === false) return { keyTags: {}, readyTags: {} };
      const readySince = elapsed() - TTL_MS;
      return { keyTags: tags(() => true), readyTags: tags((since) => since <= readySince) };
    },
  };
}

interface WatchSecretsOptions {
  readonly read: ReadSecrets;
  readonly inUse: SecretsMarks;
  /** Uses other signing keys. Rejects when they are unusable; the next reading tries again. */
  readonly onKeys: (keys: LiveSecrets['keys']) => Promise<void>;
  /** Uses other secrets of cookies and tickets, in the same way. */
  readonly onPeriods: (secrets: Omit<LiveSecrets, 'keys'>) => Promise<void>;
  /** Called at the first failed reading after a success. The secrets in use stay. */
  readonly onError: (error: unknown) => void;
  readonly timers?: Timers | undefined;
}

/** Milliseconds between two readings: a rollover step reaches every thread within two seconds. */
export const LOOK_MS = 1000;

/** Reads the secrets every second. A change counts as seen only once it is in use. */
export function watchSecrets(options: WatchSecretsOptions): Repeating {
  const { read, inUse, onKeys, onPeriods, onError, timers } = options;
  let seen = inUse;
  let isFailing = false;
  return every({
    ms: LOOK_MS,
    async task() {
      const { marks, secrets } = await read();
      // First, so that keys which are refused hold up no secret of cookies.
      if (marks.periods !== seen.periods) {
        await onPeriods(secrets);
        seen = { ...seen, periods: marks.periods };
      }
      if (marks.keys !== seen.keys) {
        await onKeys(secrets.keys);
        seen = { ...seen, keys: marks.keys };
      }
      isFailing = false;
    },
    onError(error) {
      // A damaged file stays so for a while: one report, not one a second.
      if (!isFailing) onError(error);
      isFailing = true;
    },
    ...(timers && { timers }),
  });
}

interface FirstSecretsOptions {
  readonly read: ReadSecrets;
  /** Called once, when the source has no secrets: nothing can be served yet. */
  readonly onWaiting: (error: unknown) => void;
  /** Ends the wait, within seconds. */
  readonly cancel: AbortSignal;
  readonly timers?: Timers | undefined;
}

/**
 * The secrets that a node starts with. Without any it retries every second, without a limit.
 * @throws the signal's reason when cancelled
 */
export async function firstSecrets(options: FirstSecretsOptions): Promise<SecretsReading> {
  const { read, onWaiting, cancel, timers = realTimers } = options;
  for (let attempt = 1; ; attempt++) {
    cancel.throwIfAborted();
    try {
      return await read();
    } catch (error) {
      if (attempt === 1) onWaiting(error);
    }
    await new Promise<void>((resolve) => timers.after(LOOK_MS, resolve));
  }
}

// The key of TLS session tickets: the same on all threads and, where control gives it, on all nodes of a service.

const TICKET_OCTETS = 48;
/** A key is at most this late: nodes of one address change within it. */
const TICKET_LOOK_MS = 10_000;

interface TicketKeys {
  /** For the start of the threads. */
  readonly first: Uint8Array;
  /** Changes the key every half day. Node.js takes one key: sessions of the one before begin with a full handshake. */
  rotate(use: (key: Uint8Array) => Promise<unknown>, onError: (error: unknown) => void): Repeating;
}

/** @param given by control; empty: keys are random, and recorded sessions cannot be decrypted once a key is gone */
export function ticketKeys(given: () => readonly PeriodSecret[], clock: Clock): TicketKeys {
  let own: PeriodSecret | null = null;

  function present(): Uint8Array {
    const period = Math.floor(clock() / TICKET_PERIOD_MS);
    const secret = secretOf(given(), period);
    if (secret !== null) return secret;
    if (own?.period !== period) own = { period, secret: realRandom(TICKET_OCTETS) };
    return own.secret;
  }

  const first = present();
  return {
    first,
    rotate(use, onError) {
      let inUse = first;
      return every({
        ms: TICKET_LOOK_MS,
        async task() {
          const next = present();
          if (Buffer.compare(next, inUse) === 0) return;
          await use(next);
          inUse = next;
        },
        onError,
      });
    },
  };
}
