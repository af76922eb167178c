/** Reads what a server publishes over DNS, and checks it by itself: without DNSSEC, and without trust in the server. */

import { ATTESTATION_VERSION } from '../../base/brand.ts';
import { attestationKeyId, isAttestedBy } from './attestation.ts';
import { readSignedManifest, type SignedManifest, type SignedRead } from './manifest.ts';
import { type PublishedKey, readKeyFields } from './signed-text.ts';

type PublishedFault =
  | 'manifest_malformed'
  | 'other_manifest'
  | 'key_unknown'
  | 'signature_wrong'
  | 'key_ended';

export type PublishedCheck =
  | { readonly valid: true; readonly manifest: SignedManifest; readonly key: PublishedKey }
  | { readonly valid: false; readonly code: PublishedFault; readonly reason: string };

interface PublishedAnswers {
  readonly slug: string;
  /** Null: the latest was asked for. */
  readonly version: string | null;
  /** TXT value of the manifest. */
  readonly manifest: Uint8Array;
  /** TXT values of the public keys. Those that are not readable are passed over. */
  readonly keys: readonly Uint8Array[];
}

/** Names of a TXT value, and those of the manifest file. `v` is checked by itself. */
const MANIFEST_NAMES: Readonly<Record<string, keyof SignedManifest>> = {
  ds: 'slug',
  ver: 'version',
  lic: 'license',
  prov: 'provenance',
  sha256: 'sha256',
  url: 'url',
  att: 'att',
  attsig: 'attsig',
  attkid: 'attkid',
  atts: 'atts',
};
const SECONDS = /^[0-9]{1,12}$/;

/** Whether the manifest is the one that was asked for, and a published key attested it while it did so. */
export function checkPublished({ slug, version, manifest, keys }: PublishedAnswers): PublishedCheck {
  const read = readManifestTxt(manifest);
  if (!read.ok) {
    return fault('manifest_malformed', `the manifest that the server gave is wrong: ${read.faults[0]}`);
  }
  const { value } = read;
  if (value.slug !== slug || (version !== null && value.version !== version)) {
    return fault('other_manifest', `the server gave the manifest of ${value.slug} ${value.version}`);
  }
  const key = keys
    .map(readKeyTxt)
    .find((entry) => entry !== null && attestationKeyId(entry.publicKey) === value.attkid);
  if (!key) return fault('key_unknown', `the server publishes no key ${value.attkid}`);
  if (!isAttestedBy(value, key.publicKey)) {
    return fault('signature_wrong', `the signature is not that of key ${value.attkid} over this manifest`);
  }
  // Both are whole seconds: a key may have attested in the second of its end.
  if (key.end !== null && value.atts > key.end) {
    return fault(
      'key_ended',
      `the manifest is attested at ${iso(value.atts)}, and its key ended at ${iso(key.end)}`,
    );
  }
  return { valid: true, manifest: value, key };
}

/** The counterpart of `manifestTxt`. Fields of other names are passed over. */
export function readManifestTxt(txt: Uint8Array): SignedRead<SignedManifest> {
  const fields = readFields(txt);
  if (fields === null) return { ok: false, faults: [`it is not ${ATTESTATION_VERSION} text`] };
  const value: Record<string, unknown> = {};
  for (const [name, text] of fields) {
    const member = MANIFEST_NAMES[name];
    if (member !== undefined) value[member] = name === 'atts' && SECONDS.test(text) ? Number(text) : text;
  }
  return readSignedManifest(value);
}

/** The counterpart of `keyTxt`. Null for a key of another kind. */
export function readKeyTxt(txt: Uint8Array): PublishedKey | null {
  const fields = readFields(txt);
  return fields && readKeyFields(fields);
}

/** `name=value` with `;` between. Null without the version, for a name that comes twice, and for what is not UTF-8. */
function readFields(txt: Uint8Array): ReadonlyMap<string, string> | null {
  const fields = new Map<string, string>();
  for (const field of decode(txt)?.split(';') ?? []) {
    const equals = field.indexOf('=');
    const name = field.slice(0, equals);
    if (equals < 1 || fields.has(name)) return null;
    fields.set(name, field.slice(equals + 1));
  }
  return fields.get('v') === ATTESTATION_VERSION ? fields : null;
}

function decode(octets: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    return null;
  }
}

function fault(code: PublishedFault, reason: string): PublishedCheck {
  return { valid: false, code, reason };
}

function iso(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
