import { UsageError } from '../../base/errors.ts';
import { sha256Of } from '../../control/datasets/items.ts';
import { checkPublished, type PublishedCheck } from '../../protocol/datasets/published.ts';
import { KEYS_SLUG, parseDatasetQuery } from '../../protocol/datasets/query.ts';
import { RCODE, RRTYPE, rcodeName } from '../../protocol/dns/codes.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { txtValue } from '../../protocol/dns/rdata/rdata.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { commandConfig } from '../context.ts';
import { EXIT, escapeControls, print } from '../output.ts';
import { askTxt, completeName, type QueryOptions, type Target, targetOf } from './query.ts';

interface VerifyPublishedOptions extends QueryOptions {
  /** Items file. */
  readonly verify: string;
}

type Fault = { readonly valid: false; readonly code: string; readonly reason: string };
type Result = Fault | Extract<PublishedCheck, { valid: true }>;

interface Asked {
  readonly name: string;
  /** Where the keys are published, in the same zone. */
  readonly keysName: string;
  readonly slug: string;
  /** Null: the latest. */
  readonly version: string | null;
}

/**
 * Asks for a manifest and for the keys, and checks attestation and items file by them: exit code 1 when they are not valid.
 * @throws UsageError for a name of anything but a manifest
 */
export async function verifyPublished(name: string, options: VerifyPublishedOptions): Promise<void> {
  const config = commandConfig();
  const asked = readManifestName(completeName(name, config.zones));
  const result = await checkOverDns(asked, options.verify, targetOf(options, config));
  if (!result.valid) process.exitCode = EXIT.failed;
  const text = options.json ? JSON.stringify(shown(result)) : sentence(result, options.verify);
  print(process.stdout.isTTY ? escapeControls(text) : text);
}

/** @throws UsageError */
export function readManifestName(name: string): Asked {
  const [operation = '', label = '', ...rest] = foldCase(name).split('.');
  if (operation !== 'manifest' || !rest.join('.').startsWith('datasets.public.v1.')) {
    throw new UsageError('--verify takes the name of a manifest: manifest.SLUG.datasets.public.v1');
  }
  const query = parseDatasetQuery('manifest', [label], { asOf: false, log: false });
  if (query.kind === 'manifest') {
    const { slug, version } = query;
    return { name, keysName: [operation, KEYS_SLUG, ...rest].join('.'), slug, version };
  }
  const reason = query.kind === 'keys' ? 'names the public keys' : 'is not SLUG or SLUG-v-1d2d3';
  throw new UsageError(`${escapeControls(label)} ${reason}: --verify takes the name of a manifest`);
}

/** No file is read before the attestation is found right. */
export async function checkOverDns(
  { name, keysName, slug, version }: Asked,
  items: string,
  target: Target,
): Promise<Result> {
  const manifests = valuesOf(await askTxt(name, target), name);
  if (!Array.isArray(manifests)) return manifests;
  const [manifest] = manifests;
  if (manifest === undefined) {
    return { valid: false, code: 'manifest_unknown', reason: `the server has no manifest at ${name}` };
  }
  const keys = valuesOf(await askTxt(keysName, target), keysName);
  if (!Array.isArray(keys)) return keys;
  const result = checkPublished({ slug, version, manifest, keys });
  if (!result.valid || sha256Of(items) === result.manifest.sha256) return result;
  const reason = `${items} is not the items file of the manifest: its SHA-256 is another`;
  return { valid: false, code: 'hash_differs', reason };
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
  const { manifest, key } = result;
  const { slug, version, license, provenance, url, sha256, attkid, atts } = manifest;
  const publicKey = Buffer.from(key.publicKey).toString('base64');
  const at = new Date(atts * 1000).toISOString();
  const stated = { slug, version, license, provenance, url, sha256 };
  return { valid: true, ...stated, attkid, public_key: publicKey, attested_at: at };
}

/** The key came from the server as well: the reader must see it to compare it. */
function sentence(result: Result, items: string): string {
  if (!result.valid) return `not valid: ${result.reason}`;
  const { manifest, key } = result;
  const { slug, version, attkid, atts } = manifest;
  return [
    `valid: ${items} is ${slug} ${version}, attested by key ${attkid} at ${new Date(atts * 1000).toISOString()}`,
    `the key is ${Buffer.from(key.publicKey).toString('base64')}: compare it with the publisher's`,
  ].join('\n');
}
