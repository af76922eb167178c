/** `uqrp log checkpoint` and `uqrp log prove`: the head of a transparency log, and a proof made from its tiles. They trust the policy file alone. */
import { InputError, UsageError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { isPublishedVersion, isSlug } from '../../protocol/datasets/query.ts';
import { readTransparencyEntry } from '../../protocol/transparency/entries.ts';
import { NOTE_OCTETS } from '../../protocol/transparency/note.ts';
import type { CheckpointJudgement, TrustPolicy } from '../../protocol/transparency/policy.ts';
import { printLogProof } from '../../protocol/transparency/proof.ts';
import { checkLogProof, checkNote } from '../../protocol/transparency/signatures.ts';
import { inclusionSubtrees } from '../../protocol/transparency/subtrees.ts';
import {
  decodeEntries,
  decodeTile,
  TILE_LEVELS,
  TILE_WIDTH,
  type Tile,
  tilePath,
  tilesOf,
  tileWidth,
} from '../../protocol/transparency/tiles.ts';
import { inclusionProof, type ReadSubtree, subtreesFromStored } from '../../protocol/transparency/tree.ts';
import { escapeControls, print } from '../output.ts';
import { policyOf } from '../policy-file.ts';
import { logOf } from './audit.ts';
import { readBelow } from './monitor/sources.ts';

export interface LogReadOptions {
  readonly policy: string;
  readonly url?: string;
}

type Trusted = Extract<CheckpointJudgement, { readonly valid: true }>;

/** Each entry follows its length, two octets. */
const BUNDLE_OCTETS = TILE_WIDTH * (2 + LIMITS.txtValue);
const TILE_OCTETS = TILE_WIDTH * 32;

/** Prints the checkpoint as the log gives it, when the policy trusts it. @throws InputError when it does not */
export async function logCheckpoint(options: LogReadOptions, json: boolean): Promise<void> {
  const { note, head } = await readHead(options);
  const { origin, size, root } = head.checkpoint;
  const cosigned = head.cosigners.map(({ name, time }) => ({
    name,
    at: new Date(time * 1000).toISOString(),
  }));
  if (json) {
    print(JSON.stringify({ origin, size, root: Buffer.from(root).toString('base64'), cosigned, note }));
    return;
  }
  // A note alone on standard output: others compare it with `uqrp log audit --compare`.
  process.stdout.write(note);
  const by = cosigned.map(({ name, at }) => `${name} at ${at}`).join(', ');
  process.stderr.write(escapeControls(`size ${size}, cosigned by ${by || 'nobody'}\n`));
}

/** Prints a tlog-proof of a manifest, made from the tiles of the log and verified. @param target `SLUG@VERSION` */
export async function logProve(target: string, options: LogReadOptions, json: boolean): Promise<void> {
  const [slug = '', version = '', ...more] = target.split('@');
  if (!isSlug(slug) || !isPublishedVersion(version) || more.length > 0)
    throw new UsageError('a manifest is named SLUG@VERSION, such as gtin-demo@1.2.0');
  const { url, note, head, policy } = await readHead(options);
  const { size } = head.checkpoint;
  const found = await findManifest(url, size, slug, version);
  if (found === null) throw new InputError(`${slug} ${version} is not among the ${size} entries of the log`);
  const { leaf, index } = found;
  const subtrees = inclusionSubtrees(index, size).flat();
  const read = subtreesFromStored(await readTiles(url, tilesOf(subtrees, size)));
  const proof = printLogProof({
    index,
    hashes: inclusionProof(index, size, read),
    checkpoint: note,
    extra: null,
  });
  const checked = checkLogProof(leaf, proof, policy);
  if (!checked.valid)
    throw new InputError(`the tiles of ${url} are not those of its checkpoint: ${checked.reason}`);
  if (json) print(JSON.stringify({ slug, version, index, size, proof }));
  else process.stdout.write(proof);
}

async function readHead(options: LogReadOptions): Promise<{
  readonly url: string;
  readonly note: string;
  readonly head: Trusted;
  readonly policy: TrustPolicy;
}> {
  const policy = policyOf(options.policy);
  const { url, log } = logOf(policy, options.url);
  const note = Buffer.from(await readPart(url, 'checkpoint', NOTE_OCTETS)).toString();
  // This log alone: the policy may trust others.
  const head = checkNote(note, { ...policy, logs: [log] });
  if (head.valid) return { url, note, head, policy };
  throw new InputError(`the checkpoint of ${url} is not trusted: ${escapeControls(head.reason)}`);
}

/** The newest entry with this manifest. Most proofs are wanted of what is new, so the last bundles are read first. */
async function findManifest(
  url: string,
  size: number,
  slug: string,
  version: string,
): Promise<{ readonly leaf: Uint8Array; readonly index: number } | null> {
  for (let n = Math.ceil(size / TILE_WIDTH) - 1; n >= 0; n--) {
    const width = tileWidth('entries', n, size);
    const octets = await readTile(url, { level: 'entries', n, width }, BUNDLE_OCTETS);
    const leaves = decodeEntries(octets.octets, octets.width)?.slice(0, width);
    if (!leaves) throw new InputError(`${url} gave a bundle that is malformed`);
    const at = leaves.findLastIndex((leaf) => {
      const entry = readTransparencyEntry(leaf);
      return entry?.kind === 'manifest' && entry.manifest.slug === slug && entry.manifest.version === version;
    });
    const leaf = leaves[at];
    if (leaf) return { leaf, index: n * TILE_WIDTH + at };
  }
  return null;
}

async function readTiles(url: string, tiles: readonly Tile[]): Promise<ReadSubtree> {
  const hashes = new Map<string, readonly Uint8Array[]>();
  for (const tile of tiles) {
    const { octets, width } = await readTile(url, tile, TILE_OCTETS);
    const read = decodeTile(octets, width);
    if (!read) throw new InputError(`${url} gave a tile that is malformed`);
    hashes.set(`${tile.level}/${tile.n}`, read);
  }
  return ({ level, index }) =>
    hashes.get(`${level / TILE_LEVELS}/${Math.floor(index / TILE_WIDTH)}`)![index % TILE_WIDTH]!;
}

/** A log may delete a partial tile when the full one is there (tlog-tiles). */
async function readTile(
  url: string,
  tile: Tile,
  max: number,
): Promise<{ readonly octets: Uint8Array; readonly width: number }> {
  const octets = await readBelow(`${url}/${tilePath(tile)}`, max, NEVER);
  if (octets) return { octets, width: tile.width };
  const full = { ...tile, width: TILE_WIDTH };
  return { octets: await readPart(url, tilePath(full), max), width: TILE_WIDTH };
}

async function readPart(url: string, path: string, max: number): Promise<Uint8Array> {
  const octets = await readBelow(`${url}/${path}`, max, NEVER);
  if (octets) return octets;
  throw new InputError(`${url} has no ${path}`);
}

const NEVER = new AbortController().signal;
