import { ATTESTATION_VERSION } from '../../base/brand.ts';
import { LIMITS } from '../../base/limits.ts';
import { decodeBase64 } from '../encodings.ts';
import { Faults, Fields, isJsonObject } from '../input/fields.ts';
import { isPublishedVersion, LATEST, slugFault } from './query.ts';

/** What the publisher of a dataset states. Texts are in normal form C. */
export interface Manifest {
  readonly slug: string;
  readonly version: string;
  readonly license: string;
  readonly provenance: string;
  /** Where the items file is. Untrusted: `sha256` alone identifies it. */
  readonly url: string;
}

/** The fields are named as in the file that `uqrp dataset attest` prints. */
export interface SignedManifest extends Manifest {
  /** Of the octets of the items file, 64 lower-case hex letters. */
  readonly sha256: string;
  readonly att: 'attested';
  readonly attsig: string;
  readonly attkid: string;
  /** Unix seconds. */
  readonly atts: number;
}

export type SignedRead<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly string[] };

const STATED = ['slug', 'version', 'license', 'provenance', 'url'] as const;
const ADDED = ['sha256', 'att', 'attsig', 'attkid', 'atts'] as const;
const SHA256 = /^[0-9a-f]{64}$/;
const KEY_ID = /^[0-9a-f]{16}$/;
const SIGNATURE_OCTETS = 64;
const VISIBLE = /^[!-~]+$/;
const SCHEMES = new Set(['http:', 'https:']);

export function readManifest(value: unknown): SignedRead<Manifest> {
  return readObject(value, STATED, readStated);
}

/** Reads a manifest file after its attestation. Does not verify the signature. */
export function readSignedManifest(value: unknown): SignedRead<SignedManifest> {
  return readObject(value, [...STATED, ...ADDED], (fields) => {
    const stated = readStated(fields);
    const sha256 = read(fields, 'sha256', unless(SHA256, 'must be 64 lower-case hex letters'));
    read(fields, 'att', unless(/^attested$/, 'must be attested'));
    const attsig = read(fields, 'attsig', signatureFault);
    const attkid = read(fields, 'attkid', unless(KEY_ID, 'must be 16 lower-case hex letters'));
    if (!fields.has('atts')) fields.fault('atts', 'is required');
    const atts = fields.integer('atts', 0, LATEST) ?? 0;
    return { ...stated, sha256, att: 'attested', attsig, attkid, atts };
  });
}

/** The TXT value of a manifest. At most 3,500 octets, because every field is bounded. */
export function manifestTxt(manifest: SignedManifest): string {
  const { slug, version, license, provenance, sha256, url, att, attsig, attkid, atts } = manifest;
  return [
    `v=${ATTESTATION_VERSION}`,
    `ds=${slug}`,
    `ver=${version}`,
    `lic=${license}`,
    `prov=${provenance}`,
    `sha256=${sha256}`,
    `url=${url}`,
    `att=${att}`,
    `attsig=${attsig}`,
    `attkid=${attkid}`,
    `atts=${atts}`,
  ].join(';');
}

function readObject<T>(value: unknown, known: readonly string[], from: (fields: Fields) => T): SignedRead<T> {
  if (!isJsonObject(value)) return { ok: false, faults: ['the manifest is not a JSON object'] };
  const faults = new Faults();
  const result = from(new Fields(value, known, faults));
  return faults.any ? { ok: false, faults: faults.messages } : { ok: true, value: result };
}

function readStated(fields: Fields): Manifest {
  return {
    slug: read(fields, 'slug', slugFault),
    version: read(fields, 'version', versionFault),
    license: read(fields, 'license', statementFault(LIMITS.datasetLicense)),
    provenance: read(fields, 'provenance', statementFault(LIMITS.datasetProvenance)),
    // `;` separates the fields of a TXT answer; a URL may write it as `%3B` (RFC 3986 section 2.1).
    url: read(fields, 'url', urlFault, (text) => text.replaceAll(';', '%3B')),
  };
}

/** A required text in normal form C. One with a fault is returned too: the fault keeps the result from being used. */
function read(
  fields: Fields,
  name: string,
  faultOf: (text: string) => string | null,
  rewrite = (text: string): string => text,
): string {
  const written = fields.requiredText(name);
  if (written === undefined) return '';
  const text = rewrite(written.normalize('NFC'));
  const fault = faultOf(text);
  if (fault !== null) fields.fault(name, fault);
  return text;
}

function unless(pattern: RegExp, fault: string): (text: string) => string | null {
  return (text) => (pattern.test(text) ? null : fault);
}

function versionFault(text: string): string | null {
  if (isPublishedVersion(text)) return null;
  return `must be major.minor.patch without leading zeros, at most ${LIMITS.datasetVersion} characters`;
}

function statementFault(max: number): (text: string) => string | null {
  return (text) => (text.trim() === '' ? 'must not be blank' : textFault(text, max));
}

function urlFault(text: string): string | null {
  const scheme = VISIBLE.test(text) ? URL.parse(text)?.protocol : undefined;
  if (scheme === undefined || !SCHEMES.has(scheme)) {
    return 'must be an absolute http or https URL of visible ASCII characters';
  }
  return textFault(text, LIMITS.datasetUrl);
}

function signatureFault(text: string): string | null {
  return decodeBase64(text)?.length === SIGNATURE_OCTETS ? null : 'must be Base64 of 64 octets';
}

/** Printable ASCII without `;` and backslash: most texts, and nothing else need be checked but their length. */
const PLAIN = /^[ -:<-[\]-~]*$/;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const MARK_FIRST = /^\p{M}/u;

/**
 * What is wrong with a text of a TXT answer, or null. `;` separates fields there, and a line feed ends a line of the text that is signed.
 * @param text in normal form C. @param max octets of its UTF-8
 */
export function textFault(text: string, max: number): string | null {
  if (text.length <= max && PLAIN.test(text)) return null;
  if (!text.isWellFormed() || CONTROL.test(text))
    return 'must be one line of text without control characters';
  if (text.includes(';') || text.includes('\\')) return 'must not contain ; or \\';
  // Programs that normalize a whole line would join the mark with the `=` before it.
  if (MARK_FIRST.test(text)) return 'must not begin with a combining mark';
  return Buffer.byteLength(text) > max ? `must have at most ${max} octets` : null;
}
