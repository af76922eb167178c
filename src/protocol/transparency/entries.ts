/** What a leaf of the transparency log says, and the rules that a monitor checks over all of them. */
import { ATTESTATION_VERSION, TINDEX_VERSION } from '../../base/brand.ts';
import { attestationKeyId, isAttestedBy } from '../datasets/attestation.ts';
import type { SignedManifest } from '../datasets/manifest.ts';
import { readKeyTxt, readManifestTxt } from '../datasets/published.ts';
import { compareVersions, isPublishedVersion, isSlug } from '../datasets/query.ts';
import type { PublishedKey } from '../datasets/signed-text.ts';
import { sameOctets } from './tree.ts';

export interface Retirement {
  readonly slug: string;
  readonly version: string;
  /** Of the items file, as in its manifest. */
  readonly sha256: string;
  /** Unix second. */
  readonly at: number;
}

export type TransparencyEntry =
  | { readonly kind: 'manifest'; readonly manifest: SignedManifest }
  /** `kid` as the leaf has it: a reader trusts the public key alone. */
  | { readonly kind: 'key'; readonly kid: string; readonly key: PublishedKey }
  | { readonly kind: 'retirement'; readonly retirement: Retirement };

/** What a reader of the log should know. `number` is that of the entry. */
export type LogNews = { readonly number: number } & (
  | { readonly news: 'published' | 'retired'; readonly slug: string; readonly version: string }
  | { readonly news: 'key_added' | 'key_ended'; readonly kid: string }
  | LogAlarm
);

/** An entry against the rules. */
export interface LogAlarm {
  readonly news: 'version_replaced' | 'signature_wrong' | 'key_reused' | 'entry_wrong';
  readonly reason: string;
  /** Of the entry that it contradicts, or null. */
  readonly earlier: number | null;
}

interface LoggedVersion {
  /** Number of its first entry. */
  readonly number: number;
  readonly leaf: Uint8Array;
  readonly manifest: SignedManifest;
  readonly retired: boolean;
}

interface LoggedKey {
  /** Number of its newest entry. */
  readonly number: number;
  readonly leaf: Uint8Array;
  readonly key: PublishedKey;
}

/** The sum of the entries so far: what the server has to serve. */
export interface LogSum {
  /** By slug and version. */
  readonly versions: ReadonlyMap<string, ReadonlyMap<string, LoggedVersion>>;
  /** By key id. */
  readonly keys: ReadonlyMap<string, LoggedKey>;
  /** The highest version of a dataset that is not retired, or null. */
  readonly latest: (slug: string) => LoggedVersion | null;
}

export interface LogRules {
  readonly sum: LogSum;
  /** Entries in their order, from number 0. */
  readonly add: (leaf: Uint8Array) => readonly LogNews[];
}

const RETIREMENT =
  /^v=([^;]+);ev=retired;ds=([^;]+);ver=([^;]+);sha256=([0-9a-f]{64});ts=(0|[1-9][0-9]{0,11})$/;
const KEY_ID = /^v=[^;]+;kid=([0-9a-f]{16});/;

/** The leaf that says that a version is served no more. */
export function retirementTxt({ slug, version, sha256, at }: Retirement): string {
  return `v=${TINDEX_VERSION};ev=retired;ds=${slug};ver=${version};sha256=${sha256};ts=${at}`;
}

/** Null for a leaf of no kind that is known. Signatures are not verified. */
export function readTransparencyEntry(leaf: Uint8Array): TransparencyEntry | null {
  const text = latin1(leaf);
  if (text.startsWith(`v=${TINDEX_VERSION};`)) return readRetirement(text);
  if (!text.startsWith(`v=${ATTESTATION_VERSION};`)) return null;
  const [, kid] = KEY_ID.exec(text) ?? [];
  if (kid === undefined) {
    const read = readManifestTxt(leaf);
    return read.ok ? { kind: 'manifest', manifest: read.value } : null;
  }
  const key = readKeyTxt(leaf);
  return key && { kind: 'key', kid, key };
}

/** The rules of a monitor as one state machine, which is given every entry once. */
export function transparencyRules(): LogRules {
  const versions = new Map<string, Map<string, LoggedVersion>>();
  const keys = new Map<string, LoggedKey>();
  let next = 0;

  function add(leaf: Uint8Array): readonly LogNews[] {
    const number = next;
    next += 1;
    const entry = readTransparencyEntry(leaf);
    if (!entry) return [alarm(number, 'entry_wrong', 'the entry is of no kind that is known')];
    if (entry.kind === 'manifest') return addManifest(number, leaf, entry.manifest);
    return entry.kind === 'key'
      ? addKey(number, leaf, entry.kid, entry.key)
      : addRetirement(number, entry.retirement);
  }

  function addManifest(number: number, leaf: Uint8Array, manifest: SignedManifest): readonly LogNews[] {
    const { slug, version } = manifest;
    const fault = signatureFault(manifest);
    const news = fault === null ? [] : [alarm(number, 'signature_wrong', fault)];
    const earlier = versions.get(slug)?.get(version);
    if (earlier && !sameOctets(earlier.leaf, leaf)) {
      const reason = `${slug} ${version} has another manifest than in entry ${earlier.number}`;
      return [...news, alarm(number, 'version_replaced', reason, earlier.number)];
    }
    // The same manifest again says nothing new, unless it was retired.
    if (earlier && !earlier.retired) return news;
    const ofSlug = versions.get(slug) ?? new Map<string, LoggedVersion>();
    ofSlug.set(version, { number: earlier?.number ?? number, leaf, manifest, retired: false });
    versions.set(slug, ofSlug);
    return [...news, { number, news: 'published', slug, version }];
  }

  /** A key that ends later does not make what it attested before wrong here. Its start is not checked: older manifests may follow. */
  function signatureFault(manifest: SignedManifest): string | null {
    const { slug, version, attkid, atts } = manifest;
    const key = keys.get(attkid)?.key;
    if (!key) return `${slug} ${version} is attested by ${attkid}, and no key of this name is logged before`;
    if (!isAttestedBy(manifest, key.publicKey))
      return `the signature of ${slug} ${version} is not that of ${attkid}`;
    const ended = key.end !== null && atts > key.end;
    return ended ? `${slug} ${version} is attested by ${attkid} after its end` : null;
  }

  function addKey(number: number, leaf: Uint8Array, kid: string, key: PublishedKey): readonly LogNews[] {
    if (attestationKeyId(key.publicKey) !== kid) {
      return [alarm(number, 'key_reused', `${kid} is not the name of this public key`)];
    }
    const earlier = keys.get(kid);
    const fault = earlier && keyFault(earlier.key, key);
    if (earlier && fault) {
      return [
        alarm(number, 'key_reused', `${kid} has ${fault} than in entry ${earlier.number}`, earlier.number),
      ];
    }
    keys.set(kid, { number, leaf, key });
    const added: readonly LogNews[] = earlier ? [] : [{ number, news: 'key_added', kid }];
    const ended = key.end !== null && (earlier?.key.end ?? null) === null;
    return ended ? [...added, { number, news: 'key_ended', kid }] : added;
  }

  function addRetirement(number: number, retirement: Retirement): readonly LogNews[] {
    const { slug, version, sha256 } = retirement;
    const published = versions.get(slug)?.get(version);
    if (!published || published.retired) {
      return [alarm(number, 'entry_wrong', `${slug} ${version} is retired, and was not served`)];
    }
    if (published.manifest.sha256 !== sha256) {
      const reason = `${slug} ${version} is retired with other items than in entry ${published.number}`;
      return [alarm(number, 'version_replaced', reason, published.number)];
    }
    versions.get(slug)?.set(version, { ...published, retired: true });
    return [{ number, news: 'retired', slug, version }];
  }

  function latest(slug: string): LoggedVersion | null {
    const served = [...(versions.get(slug)?.values() ?? [])].filter(({ retired }) => !retired);
    return served.reduce<LoggedVersion | null>(
      (best, one) => (best && compareVersions(best.manifest.version, one.manifest.version) >= 0 ? best : one),
      null,
    );
  }

  return { sum: { versions, keys, latest }, add };
}

/** What of a key changed that may not. An end may be added, once. */
function keyFault(before: PublishedKey, now: PublishedKey): string | null {
  // 64 bits of a hash are a name: two public keys can have the same.
  if (!sameOctets(before.publicKey, now.publicKey)) return 'another public key';
  if (before.since !== now.since) return 'another start';
  return before.end !== null && before.end !== now.end ? 'another end' : null;
}

function alarm(
  number: number,
  news: LogAlarm['news'],
  reason: string,
  earlier: number | null = null,
): LogNews {
  return { number, news, reason, earlier };
}

function readRetirement(text: string): TransparencyEntry | null {
  const [, , slug = '', version = '', sha256 = '', at = ''] = RETIREMENT.exec(text) ?? [];
  if (!isSlug(slug) || !isPublishedVersion(version)) return null;
  return { kind: 'retirement', retirement: { slug, version, sha256, at: Number(at) } };
}

function latin1(octets: Uint8Array): string {
  return Buffer.from(octets.buffer, octets.byteOffset, octets.length).toString('latin1');
}
