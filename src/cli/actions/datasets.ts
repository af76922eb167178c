import { existsSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { basename } from 'node:path';
import { InputError, UsageError } from '../../base/errors.ts';
import { isOutOfSpace } from '../../base/files.ts';
import type { Clock } from '../../base/time.ts';
import { attestFiles, verifyFiles } from '../../control/datasets/attest.ts';
import { importDataset } from '../../control/datasets/import.ts';
import { makeAttestationKey, publishOwnKeys, readAttestationKeys } from '../../control/datasets/keys.ts';
import {
  type DatasetVersion,
  exportItems,
  findServed,
  listDatasets,
  retireDataset,
} from '../../control/datasets/versions.ts';
import { hasStore } from '../../process/use-case-deps.ts';
import { manifestTxt, type SignedManifest } from '../../protocol/datasets/manifest.ts';
import { isPublishedVersion, isSlug } from '../../protocol/datasets/query.ts';
import { PUBLIC_KEY_OCTETS } from '../../protocol/datasets/signed-text.ts';
import { decodeBase64 } from '../../protocol/encodings.ts';
import { checkLogProof, type ProofJudgement } from '../../protocol/transparency/signatures.ts';
import { configWithData, withStore } from '../context.ts';
import { EXIT, escapeControls, print, stopOnClosedPipe, table } from '../output.ts';
import { octetsOfFile, policyOf } from '../policy-file.ts';
import { loggedFacts, loggedSentence } from './verify-published.ts';

/** What a progress line is written to. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

interface Progress {
  /** Units done so far, and in all. */
  readonly show: (done: number, total: number) => void;
  /** Removes the line. */
  readonly clear: () => void;
}

const INTERVAL_MS = 100;
const BAR_CELLS = 24;
const COLUMNS = 80;
/** Returns to the first column and erases the line (ECMA-48: CR, EL). */
const ERASE = '\r\u001b[2K';

/**
 * One line on a terminal that shows how much of a file is done. Writes nothing to a pipe or a file.
 * @param now milliseconds of a clock that never goes back
 */
export function progressOn(terminal: Terminal, file: string, now = () => performance.now()): Progress {
  if (terminal.isTTY !== true) return { show: () => {}, clear: () => {} };
  const label = escapeControls(basename(file));
  let next = now() + INTERVAL_MS;
  let isShown = false;
  return {
    show(done, total) {
      if (now() < next) return;
      next = now() + INTERVAL_MS;
      isShown = true;
      const line = `${bar(done, total)}  ${label}`;
      // A longer line would wrap, and only its last row could be erased.
      terminal.write(ERASE + line.slice(0, (terminal.columns ?? COLUMNS) - 1));
    },
    clear() {
      if (isShown) terminal.write(ERASE);
      isShown = false;
    },
  };
}

function bar(done: number, total: number): string {
  const part = total === 0 ? 1 : Math.min(1, done / total);
  const cells = Math.floor(part * BAR_CELLS);
  const percent = String(Math.floor(part * 100)).padStart(3);
  return `[${'#'.repeat(cells)}${'.'.repeat(BAR_CELLS - cells)}] ${percent} %`;
}

export interface VerifyOptions {
  readonly items: string;
  readonly key: string;
  /** Files with a policy and a proof of the transparency log: both or none. */
  readonly log?: string;
  readonly proof?: string;
}

/** Makes an attestation key in the data directory. The newest key attests. */
export async function datasetKeygen(clock: Clock, json: boolean): Promise<void> {
  const config = configWithData();
  const { dataDir } = config;
  const { kid, publicKey, createdAt } = makeAttestationKey(dataDir, clock());
  const text = publicKey.toString('base64');
  const created = new Date(createdAt).toISOString();
  print(json ? JSON.stringify({ kid, public_key: text, created_at: created }) : `${kid} ${text}`);
  if (!hasStore(config)) return;
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
export function datasetVerify(signed: string, { items, key, ...of }: VerifyOptions, json: boolean): void {
  const publicKey = parsePublicKey(key);
  const checkLogged = logCheckOf(of);
  const progress = progressOn(process.stderr, items);
  try {
    const options = { sortFolder: tmpdir(), onProgress: progress.show };
    const result = verifyFiles({ manifest: signed, items }, publicKey, options);
    progress.clear();
    if (!result.valid) {
      printFault(result, json);
      return;
    }
    const logged = checkLogged?.(result.manifest);
    if (logged?.valid === false) {
      printFault(logged, json);
      return;
    }
    const { slug, version, attkid, atts } = result.manifest;
    const at = new Date(atts * 1000).toISOString();
    const { items: count, windows } = result.items;
    const facts = { valid: true, slug, version, attkid, attested_at: at, items: count, windows };
    const text = `valid: ${slug} ${version}, attested by key ${attkid} at ${at}, ${count} items, ${windows} windows`;
    if (json) print(JSON.stringify(logged ? { ...facts, log: loggedFacts(logged) } : facts));
    else print(logged ? `${text}\n${escapeControls(loggedSentence(logged))}` : text);
  } finally {
    progress.clear();
  }
}

function printFault(fault: { readonly reason: string }, json: boolean): void {
  process.exitCode = EXIT.failed;
  print(json ? JSON.stringify(fault) : `not valid: ${fault.reason}`);
}

/** Reads both files at once. Undefined: no proof is asked for. @throws UsageError @throws InputError */
function logCheckOf({
  log,
  proof,
}: Pick<VerifyOptions, 'log' | 'proof'>): ((manifest: SignedManifest) => ProofJudgement) | undefined {
  if (log === undefined && proof === undefined) return undefined;
  if (log === undefined || proof === undefined) throw new UsageError('--log and --proof need each other');
  const policy = policyOf(log);
  const text = octetsOfFile(proof).toString();
  return (manifest) => checkLogProof(Buffer.from(manifestTxt(manifest)), text, policy);
}

/** @throws UsageError */
function parsePublicKey(text: string): Uint8Array {
  const key = decodeBase64(text);
  if (key?.length === PUBLIC_KEY_OCTETS) return key;
  throw new UsageError(`--key takes a public key of ${PUBLIC_KEY_OCTETS} octets in Base64`);
}

export interface ImportOptions {
  readonly items: string;
  readonly key?: string;
}

/** Lower than a server's: the check of a large file uses a core for some seconds. */
const PRIORITY = 5;

/** Imports a signed manifest and its items beside a running server, which serves them once all are stored. */
export async function datasetImport(
  clock: Clock,
  signed: string,
  { items, key }: ImportOptions,
  json: boolean,
): Promise<void> {
  const given = key === undefined ? null : parsePublicKey(key);
  setPriority(PRIORITY);
  const checking = progressOn(process.stderr, `check ${basename(items)}`);
  const storing = progressOn(process.stderr, `store ${basename(items)}`);
  const imported = await withStore(clock, ({ config, deps }) => {
    if (deps.isLogged)
      process.stderr.write(
        'note: with the transparency log, licence, provenance and URL of this version become public for good\n',
      );
    return importDataset(
      deps,
      { manifest: signed, items },
      {
        own: readAttestationKeys(config.dataDir),
        key: given,
        sortFolder: existsSync(config.dataDir) ? config.dataDir : tmpdir(),
        onChecked: checking.show,
        onProgress: storing.show,
      },
    );
  })
    .catch((error: unknown) => {
      if (!isOutOfSpace(error)) throw error;
      throw new InputError('The disk is full. Make room and import again: it goes on from here.');
    })
    .finally(() => {
      checking.clear();
      storing.clear();
    });
  const { slug, version } = imported.manifest;
  const isNew = imported.items !== null;
  if (json) print(JSON.stringify({ slug, version, imported: isNew, items: imported.items }));
  else print(`${slug} ${version} ${isNew ? `imported, ${imported.items} items` : 'was already imported'}`);
}

export async function datasetList(clock: Clock, json: boolean): Promise<void> {
  const versions = await withStore(clock, ({ deps }) => listDatasets(deps));
  if (json) {
    print(JSON.stringify(versions.map(factsOf)));
    return;
  }
  const rows = versions.map((dataset) => {
    const { slug, version, state, latest, items, windows, attkid, published_at: at } = factsOf(dataset);
    return [slug, version, latest ? 'latest' : state, `${items}`, `${windows}`, attkid, at ?? '-'];
  });
  print(table([['SLUG', 'VERSION', 'STATE', 'ITEMS', 'WINDOWS', 'KEY', 'PUBLISHED'], ...rows]));
}

/** @param target `SLUG` or `SLUG@VERSION` */
export async function datasetRetire(clock: Clock, target: string, json: boolean): Promise<void> {
  const { slug, version } = parseTarget(target);
  const versions = await withStore(clock, ({ deps }) => retireDataset(deps, slug, version));
  print(json ? JSON.stringify({ slug, retired: versions }) : `${slug} ${versions.join(', ')} retired`);
}

/** Writes the items file as it was imported, or its signed manifest. */
export async function datasetExport(
  clock: Clock,
  target: string,
  { manifest }: { readonly manifest?: boolean },
): Promise<void> {
  const { slug, version } = parseTarget(target);
  stopOnClosedPipe();
  await withStore(clock, async ({ deps }) => {
    const dataset = await findServed(deps, slug, version);
    if (manifest) {
      print(JSON.stringify(dataset.manifest, null, 2));
      return;
    }
    for await (const octets of exportItems(deps, dataset)) {
      // A slow reader must hold the export up: otherwise the whole file would wait in memory.
      if (!process.stdout.write(octets))
        await new Promise((resolve) => process.stdout.once('drain', resolve));
    }
  });
}

function factsOf({ manifest, state, isLatest, items, windows, octets, publishedAt }: DatasetVersion) {
  return {
    slug: manifest.slug,
    version: manifest.version,
    state,
    latest: isLatest,
    items,
    windows,
    octets,
    sha256: manifest.sha256,
    attkid: manifest.attkid,
    attested_at: new Date(manifest.atts * 1000).toISOString(),
    published_at: publishedAt === null ? null : new Date(publishedAt).toISOString(),
  };
}

function parseTarget(target: string): { slug: string; version: string | null } {
  const [slug = '', version, ...more] = target.split('@');
  if (!isSlug(slug) || more.length > 0 || (version !== undefined && !isPublishedVersion(version))) {
    throw new UsageError('a dataset is named SLUG or SLUG@VERSION, such as gtin-demo@1.2.0');
  }
  return { slug, version: version ?? null };
}
