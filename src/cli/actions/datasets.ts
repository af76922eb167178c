import { tmpdir } from 'node:os';
import type { Clock } from '../../base/clock.ts';
import { attestFiles, verifyFiles } from '../../control/datasets/attest.ts';
import { makeAttestationKey, publishOwnKeys, readAttestationKeys } from '../../control/datasets/keys.ts';
import { PUBLIC_KEY_OCTETS } from '../../protocol/datasets/signed-text.ts';
import { decodeBase64 } from '../../protocol/encodings.ts';
import { hasLocalStore } from '../../store/open.ts';
import { configWithData, withStore } from '../context.ts';
import { EXIT, InputError, print, UsageError } from '../output.ts';
import { progressOn } from '../progress.ts';

export interface VerifyOptions {
  readonly items: string;
  readonly key: string;
}

/** Makes an attestation key in the data directory. The newest key attests. */
export async function datasetKeygen(clock: Clock, json: boolean): Promise<void> {
  const { dataDir, databaseUrl } = configWithData();
  const { kid, publicKey, createdAt } = makeAttestationKey(dataDir, clock());
  const text = publicKey.toString('base64');
  const created = new Date(createdAt).toISOString();
  print(json ? JSON.stringify({ kid, public_key: text, created_at: created }) : `${kid} ${text}`);
  if (databaseUrl === null && !hasLocalStore(dataDir)) return;
  try {
    await withStore(clock, ({ deps }) => publishOwnKeys(deps, readAttestationKeys(dataDir)));
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'failed';
    process.stderr.write(`warning: the key is not published over DNS before the next import: ${reason}\n`);
  }
}

/** Prints the manifest with hash and signature. Needs no server, but the key in its data directory. */
export function datasetAttest(
  clock: Clock,
  manifest: string,
  { items }: { readonly items: string },
  json: boolean,
): void {
  const { dataDir } = configWithData();
  const key = readAttestationKeys(dataDir).at(-1);
  if (key === undefined) throw new InputError(`${dataDir} has no attestation key: run uqrp dataset keygen`);
  const progress = progressOn(process.stderr, items);
  try {
    const options = { sortFolder: dataDir, onProgress: progress.show };
    const signed = attestFiles({ manifest, items }, key, clock(), options);
    progress.clear();
    print(JSON.stringify(signed, null, json ? undefined : 2));
  } finally {
    progress.clear();
  }
}

/** Verifies an attestation by a public key alone. Needs neither a server nor its data directory. */
export function datasetVerify(signed: string, { items, key }: VerifyOptions, json: boolean): void {
  const publicKey = parsePublicKey(key);
  const progress = progressOn(process.stderr, items);
  try {
    const options = { sortFolder: tmpdir(), onProgress: progress.show };
    const result = verifyFiles({ manifest: signed, items }, publicKey, options);
    progress.clear();
    if (!result.valid) {
      process.exitCode = EXIT.failed;
      print(json ? JSON.stringify(result) : `not valid: ${result.reason}`);
      return;
    }
    const { slug, version, attkid, atts } = result.manifest;
    const at = new Date(atts * 1000).toISOString();
    const { items: count, windows } = result.items;
    const facts = { valid: true, slug, version, attkid, attested_at: at, items: count, windows };
    const text = `valid: ${slug} ${version}, attested by key ${attkid} at ${at}, ${count} items, ${windows} windows`;
    print(json ? JSON.stringify(facts) : text);
  } finally {
    progress.clear();
  }
}

/** @throws UsageError */
export function parsePublicKey(text: string): Uint8Array {
  const key = decodeBase64(text);
  if (key?.length === PUBLIC_KEY_OCTETS) return key;
  throw new UsageError(`--key takes a public key of ${PUBLIC_KEY_OCTETS} octets in Base64`);
}
