import { createHash, hkdfSync } from 'node:crypto';
import type { Clock } from '../../base/time.ts';
import { keyText, loadKeys, parseKeys, updateKeys } from '../../dns/dnssec/key-files.ts';
import { KeyError, type KeySet, keySetData } from '../../dns/dnssec/key-set.ts';
import { presignedAt, presignedSetData } from '../../dns/dnssec/node-key-set.ts';
import type { SigningMode } from '../../dns/dnssec/signer.ts';
import {
  COOKIE_PERIOD_MS,
  type NodeKeys,
  type PeriodSecret,
  TICKET_PERIOD_MS,
  type ZoneSecret,
} from '../../feed/ports/node-keys.ts';

/** Signing keys of the control side, in files of the data directory or in the database. */
export interface ZoneKeys {
  /** The keys of a zone, or null: none are made. @throws KeyError when the stored keys are unusable */
  find(zone: string): Promise<KeySet | null>;
  /**
   * The keys of a zone, made on first use. Processes that do this at once get the same ones.
   * @throws KeyError when the stored keys are unusable
   */
  load(zone: string): Promise<KeySet>;
  /**
   * Replaces the keys of a zone by the result of `change`, and returns it. Writes nothing when the set is the same.
   * @throws KeyError as `load`; and, with nothing written, when another process changes them at the same time
   */
  update<T extends { readonly keys: KeySet }>(zone: string, change: (keys: KeySet) => T): Promise<T>;
}

/** Keys in `keys/` of the data directory: for a single process with SQLite. */
export function fileZoneKeys(dataDir: string, clock: Clock): ZoneKeys {
  const found = new Map<string, { readonly text: string; readonly keys: KeySet }>();
  return {
    async find(zone) {
      const text = keyText(dataDir, zone);
      if (text === null) {
        found.delete(zone);
        return null;
      }
      const last = found.get(zone);
      if (last?.text === text) return last.keys;
      const keys = parseKeys(text, zone);
      found.set(zone, { text, keys });
      return keys;
    },
    load: async (zone) => loadKeys(dataDir, zone, clock),
    update: async (zone, change) => updateKeys(dataDir, zone, clock, change),
  };
}

// The secrets of nodes, as the control side makes them: from its signing keys, and derived from UQRP_SECRET.

/** Labels under which keys are derived from UQRP_SECRET, and their length. */
export const COOKIE_KEY = { label: 'dns-cookie', octets: 32 } as const;
export const TICKET_KEY = { label: 'tls-tickets', octets: 32 } as const;

export interface ControlSecretsOptions {
  readonly keys: Pick<ZoneKeys, 'find'>;
  /** Empty where answers are not signed. */
  readonly zones: readonly string[];
  /** `split`: no node gets a KSK. */
  readonly mode: SigningMode;
  readonly cookieKey: Uint8Array;
  /** Null: one process alone, which makes ticket keys that nothing can be derived from. */
  readonly ticketKey: Uint8Array | null;
  readonly clock: Clock;
}

const COOKIE_OCTETS = 16;
const TICKET_OCTETS = 48;
/** From a change to its use: until then every node that is connected has it. */
const ACTIVATION_MS = 5_000;

interface HeldSecret {
  /** Of this key set, and with signatures of this time. */
  readonly set: KeySet;
  readonly signedAt: number | null;
  readonly secret: ZoneSecret;
}

/** Reads the signing keys each time, and computes only what changed. Rejects with KeyError when a zone has none, or unusable ones: none are made. */
export function controlSecrets(options: ControlSecretsOptions): NodeKeys {
  const { keys, zones, mode, cookieKey, ticketKey, clock } = options;
  const made = new Map<string, HeldSecret>();
  const cookiesOf = lately((day) => [day - 1, day, day + 1].map((period) => cookieSecret(cookieKey, period)));
  const ticketsOf = lately((half) =>
    ticketKey === null ? [] : [half - 1, half, half + 1].map((period) => ticketSecret(ticketKey, period)),
  );

  async function zoneSecret(zone: string): Promise<ZoneSecret> {
    const set = await keys.find(zone);
    if (set === null)
      throw new KeyError(`there are no signing keys of ${zone}; a process of the control role makes them`);
    const signedAt = mode === 'full' ? null : presignedAt(clock());
    const held = made.get(zone);
    if (held?.set === set && held.signedAt === signedAt) return held.secret;
    const mark = markOf(set, signedAt);
    if (held?.secret.mark === mark) {
      made.set(zone, { ...held, set, signedAt });
      return held.secret;
    }
    const data = mode === 'full' ? keySetData(set) : presignedSetData(set, clock());
    const from = Math.max(...set.keys.map(({ stateSince }) => stateSince)) + ACTIVATION_MS;
    const secret = { zone, mark, from, document: JSON.stringify(data) };
    made.set(zone, { set, signedAt, secret });
    return secret;
  }

  /** Signatures of the same time count as the same, although another process made others. */
  function markOf(set: KeySet, signedAt: number | null): string {
    const facts = set.keys.map(({ privateKey: _secret, dnskeyRdata, ...rest }) => [rest, [...dnskeyRdata]]);
    return createHash('sha256')
      .update(JSON.stringify([mode, signedAt, facts]))
      .digest('base64');
  }

  return {
    async read() {
      const now = clock();
      const day = Math.floor(now / COOKIE_PERIOD_MS);
      const half = Math.floor(now / TICKET_PERIOD_MS);
      return {
        zones: await Promise.all(zones.map(zoneSecret)),
        // Yesterday's is accepted, and tomorrow's is at every node before midnight.
        cookies: cookiesOf(day),
        tickets: ticketsOf(half),
      };
    },
  };
}

/** Remembers the result for the last argument. */
function lately<T>(make: (period: number) => T): (period: number) => T {
  let last: { readonly period: number; readonly made: T } | null = null;
  return (period) => {
    if (last?.period !== period) last = { period, made: make(period) };
    return last.made;
  };
}

function cookieSecret(key: Uint8Array, day: number): PeriodSecret {
  return { period: day, secret: derived(key, `day ${day}`, COOKIE_OCTETS) };
}

function ticketSecret(key: Uint8Array, period: number): PeriodSecret {
  return { period, secret: derived(key, `period ${period}`, TICKET_OCTETS) };
}

function derived(key: Uint8Array, label: string, octets: number): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', key, '', label, octets));
}
