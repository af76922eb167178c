import type { Clock } from '../../../core/clock.ts';
import { RRTYPE } from '../../wire/codes.ts';
import { apexOf, dsRdata, keysAtParent } from '../keys/ds.ts';
import { KeyError, type KeySet, type ZoneKey } from '../keys/key-set.ts';
import type { SignableRrset } from './canonical.ts';
import { signatureWindow, signRrsetWith } from './rrsig.ts';
import { RrsigCache, type RrsigCacheSettings, type Signed } from './rrsig-cache.ts';
import { SeenNames } from './seen-names.ts';

/**
 * `full`: every active key signs every rrset, as RFC 4035 §2.2 demands for keys of two algorithms. `split`: the KSK
 * signs DNSKEY, CDS and CDNSKEY, the ZSK the rest.
 */
export type SigningMode = 'full' | 'split';

export interface SignerSettings {
  readonly keys: KeySet;
  readonly mode: SigningMode;
  readonly clock: Clock;
  readonly cache?: RrsigCacheSettings;
}

/** Signs for one zone with one key set. New keys need a new signer. */
export interface Signer {
  /** In wire form. */
  readonly apex: Uint8Array;
  /** Rrsets at the apex, each of at least one record. */
  readonly dnskey: SignableRrset;
  readonly cds: SignableRrset;
  readonly cdnskey: SignableRrset;
  /**
   * Signs an rrset of this zone.
   * @param once nothing remembers these signatures, so that no timing shows whether they were asked for before
   * @throws SigningError: the answer is then SERVFAIL, never one without signatures
   */
  sign(rrset: SignableRrset, once?: boolean): Signed;
}

/** The message does not name what was to be signed. */
export class SigningError extends Error {
  override readonly name = 'SigningError';
}

/** TTL of DNSKEY, CDS and CDNSKEY, seconds. Rollovers wait for it. */
export const DNSKEY_TTL = 3600;

const OF_KSK: ReadonlySet<number> = new Set([RRTYPE.DNSKEY, RRTYPE.CDS, RRTYPE.CDNSKEY]);

/** @throws KeyError when no key of a role is active */
export function makeSigner({ keys: keySet, mode, clock, cache: settings }: SignerSettings): Signer {
  const apex = apexOf(keySet.zone);
  const cache = new RrsigCache(settings);
  const seen = new SeenNames();
  const active = keySet.keys.filter(({ state }) => state === 'active');
  const ksk = active.filter(({ role }) => role === 'ksk');
  const zsk = active.filter(({ role }) => role === 'zsk');
  if (ksk.length === 0 || zsk.length === 0) throw new KeyError(`no active keys for ${keySet.zone}`);
  const atParent = keysAtParent(keySet);

  function signersOf(type: number): readonly ZoneKey[] {
    if (mode === 'full') return active;
    return OF_KSK.has(type) ? ksk : zsk;
  }

  function ofApex(type: number, rdata: readonly Uint8Array[]): SignableRrset {
    return { owner: apex, type, ttl: DNSKEY_TTL, rdata };
  }

  return {
    apex,
    dnskey: ofApex(
      RRTYPE.DNSKEY,
      keySet.keys.map(({ dnskeyRdata }) => dnskeyRdata),
    ),
    cds: ofApex(
      RRTYPE.CDS,
      atParent.map((key) => dsRdata(apex, key)),
    ),
    cdnskey: ofApex(
      RRTYPE.CDNSKEY,
      atParent.map(({ dnskeyRdata }) => dnskeyRdata),
    ),
    sign(rrset, once = false) {
      const now = clock();
      // A flood of names asked once would fill the cache with denials that no later query uses.
      const isKept = !once && (rrset.type !== RRTYPE.NSEC || seen.again(rrset.owner));
      const held = isKept ? cache.get(rrset, now) : null;
      if (held !== null) return held;
      try {
        const { inception, expiration, validFrom, renewAt } = signatureWindow(now);
        const rrsigs = signRrsetWith(rrset, signersOf(rrset.type), { signer: apex, inception, expiration });
        const signed: Signed = { rrsigs, validFrom, renewAt, isFresh: true };
        if (isKept) cache.set(rrset, signed);
        return signed;
      } catch (cause) {
        throw new SigningError('signing failed', { cause });
      }
    },
  };
}
