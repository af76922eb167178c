import { UsageError } from '../../base/errors.ts';
import { sha256Of } from '../../control/datasets/items.ts';
import { readProofTxt } from '../../protocol/datasets/log-txt.ts';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { checkPublished, type PublishedCheck } from '../../protocol/datasets/published.ts';
import { KEYS_SLUG, LOG_LABEL, manifestLabel, parseDatasetQuery } from '../../protocol/datasets/query.ts';
import { RCODE, RRTYPE, rcodeName } from '../../protocol/dns/codes.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { txtValue } from '../../protocol/dns/rdata/rdata.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import type { TrustPolicy } from '../../protocol/transparency/policy.ts';
import { checkLogProof } from '../../protocol/transparency/signatures.ts';
import { commandConfig } from '../context.ts';
import { EXIT, escapeControls, print } from '../output.ts';
import { policyOf } from '../policy-file.ts';
import { askTxt, completeName, type QueryOptions, type Target, targetOf } from './query.ts';

export interface PublishedCheckOptions {
  /** Items file. */
  readonly verify?: string;
  /** File with the policy by which the transparency log is trusted. Without it no proof is asked for. */
  readonly log?: string;
}

type Fault = { readonly valid: false; readonly code: string; readonly reason: string };
type Proved = Extract<ReturnType<typeof checkLogProof>, { valid: true }>;
type Result = Fault | (Extract<PublishedCheck, { valid: true }> & { readonly logged?: Proved });

interface Asked {
  readonly name: string;
  /** Labels after the one of the dataset. */
  readonly below: string;
  readonly slug: string;
  /** Null: the latest. */
  readonly version: string | null;
}

/**
 * Asks for a manifest and for the keys, and checks attestation and items file by them: exit code 1 when they are not valid.
 * @throws UsageError for a name of anything but a manifest
 */
export async function verifyPublished(
  name: string,
  options: QueryOptions & PublishedCheckOptions,
): Promise<void> {
  const { verify: items, log } = options;
  if (items === undefined) throw new UsageError('--log needs --verify');
  const config = commandConfig();
  const asked = readManifestName(completeName(name, config.zones));
  const policy = log === undefined ? null : policyOf(log);
  const result = await checkOverDns(asked, items, targetOf(options, config), policy);
  if (!result.valid) process.exitCode = EXIT.failed;
  const text = options.json ? JSON.stringify(shown(result)) : sentence(result, items);
  print(process.stdout.isTTY ? escapeControls(text) : text);
}

/** @throws UsageError */
export function readManifestName(name: string): Asked {
  const [operation = '', label = '', ...rest] = foldCase(name).split('.');
  if (operation !== 'manifest' || !rest.join('.').startsWith('datasets.public.v1.')) {
    throw new UsageError(
      '--verify takes the name of a manifest: manifest.SLUG.datasets.public.v1, or of version 1.2.3 manifest.SLUG-v-1d2d3.datasets.public.v1',
    );
  }
  const query = parseDatasetQuery('manifest', [label], { asOf: false, log: false });
  if (query.kind === 'manifest') {
    const { slug, version } = query;
    return { name, below: rest.join('.'), slug, version };
  }
  const reason = query.kind === 'keys' ? 'names the public keys' : 'is not SLUG or SLUG-v-1d2d3';
  throw new UsageError(`${escapeControls(label)} ${reason}: --verify takes the name of a manifest`);
}

/** No file is read before the attestation is found right. */
export async function checkOverDns(
  { name, below, slug, version }: Asked,
  items: string,
  target: Target,
  policy: TrustPolicy | null = null,
): Promise<Result> {
  const keysName = `manifest.${KEYS_SLUG}.${below}`;
  const manifests = valuesOf(await askTxt(name, target), name);
  if (!Array.isArray(manifests)) return manifests;
  const [manifest] = manifests;
  if (manifest === undefined) {
    return { valid: false, code: 'manifest_unknown', reason: `the server has no manifest at ${name}` };
  }
  const keys = valuesOf(await askTxt(keysName, target), keysName);
  if (!Array.isArray(keys)) return keys;
  const result = checkPublished({ slug, version, manifest, keys });
  if (!result.valid) return result;
  if (sha256Of(items) !== result.manifest.sha256) {
    const reason = `${items} is not the items file of the manifest: its SHA-256 is another`;
    return { valid: false, code: 'hash_differs', reason };
  }
  if (policy === null) return result;
  const logged = await checkLogged(manifest, result.manifest, below, target, policy);
  return logged.valid ? { ...result, logged } : logged;
}

/** Whether the transparency log has the very octets of this manifest. The version is named, so that a newer one does not come in between. */
async function checkLogged(
  leaf: Uint8Array,
  { slug, version }: Pick<SignedManifest, 'slug' | 'version'>,
  below: string,
  target: Target,
  policy: TrustPolicy,
): Promise<Fault | Proved> {
  const name = `manifest.${manifestLabel(slug, version)}.${LOG_LABEL}.${below}`;
  const reply = await askTxt(name, target);
  // As a server without a transparency log answers.
  const values = reply.rcode === RCODE.FORMERR ? [] : valuesOf(reply, name);
  if (!Array.isArray(values)) return values;
  const [value] = values;
  if (value === undefined) {
    const reason = `the server has no proof that ${slug} ${version} is in a transparency log`;
    return { valid: false, code: 'not_logged', reason };
  }
  const answer = readProofTxt(Buffer.from(value).toString('latin1'));
  if (answer?.slug !== slug || answer.version !== version) {
    const reason = `what the server gave is no proof of ${slug} ${version}`;
    return { valid: false, code: 'proof_wrong', reason };
  }
  const checked = checkLogProof(leaf, answer.proof, policy);
  return checked.valid ? checked : { valid: false, code: checked.code, reason: checked.reason };
}

/** The TXT values of an answer; none when the name has none. */
function valuesOf(reply: Message, name: string): Uint8Array[] | Fault {
  if (reply.rcode !== RCODE.NOERROR) {
    const reason = `the server answers ${rcodeName(reply.rcode)} to ${name}`;
    return { valid: false, code: rcodeName(reply.rcode).toLowerCase(), reason };
  }
  return reply.answer.flatMap(({ type, rdata }) => {
    const value = type === RRTYPE.TXT ? txtValue(rdata) : null;
    return value === null ? [] : [value];
  });
}

function shown(result: Result): object {
  if (!result.valid) return result;
  const { manifest, key, logged } = result;
  const { slug, version, license, provenance, url, sha256, attkid, atts } = manifest;
  const publicKey = Buffer.from(key.publicKey).toString('base64');
  const at = new Date(atts * 1000).toISOString();
  const stated = { slug, version, license, provenance, url, sha256 };
  const shownLog = logged && { log: loggedFacts(logged) };
  return { valid: true, ...stated, attkid, public_key: publicKey, attested_at: at, ...shownLog };
}

export function loggedFacts({ index, checkpoint: { origin, size }, cosigners }: Proved) {
  const cosigned = cosigners.map(({ name, time }) => ({ name, at: new Date(time * 1000).toISOString() }));
  return { origin, index, size, cosigned };
}

/** The key came from the server as well: the reader must see it to compare it. */
function sentence(result: Result, items: string): string {
  if (!result.valid) return `not valid: ${result.reason}`;
  const { manifest, key, logged } = result;
  const { slug, version, attkid, atts } = manifest;
  return [
    `valid: ${items} is ${slug} ${version}, attested by key ${attkid} at ${new Date(atts * 1000).toISOString()}`,
    `the key is ${Buffer.from(key.publicKey).toString('base64')}: compare it with the publisher's`,
    ...(logged ? [loggedSentence(logged)] : []),
  ].join('\n');
}

export function loggedSentence(logged: Proved): string {
  const { origin, index, size, cosigned } = loggedFacts(logged);
  const by = cosigned.map(({ name, at }) => `${name} at ${at}`);
  return `logged: entry ${index} of ${size} in ${origin}, cosigned by ${by.join(', ') || 'nobody'}`;
}
