/**
 * What a snapshot is, signed by control. Its parts lie beside it.
 *
 * | octets | field |
 * |---|---|
 * | 4 | `UQFS` |
 * | 1, 1, 2 | version, flags (0), shard |
 * | 8 | signer |
 * | 16, 16 | id of the snapshot, id of the hourly key of its parts |
 * | 8, 8 | `seq`, time |
 * | 8, 8, 4 | octets of the content, of all parts, number of parts |
 * | 32 | SHA-256 of the content |
 * | 4 | page size |
 * | 1 + n, each | kind, epoch, layout, machine |
 * | 64 | Ed25519 |
 */
import { LIMITS } from '../../base/limits.ts';
import { KEY_ID_OCTETS } from '../batch/feed-key.ts';
import { field } from '../batch/fields.ts';
import { openSigned, SHARD, writePreamble } from '../batch/preamble.ts';
import { FeedRefusedError } from '../batch/refusal.ts';
import type { FeedSigner, FeedVerifier } from '../batch/signature.ts';

export const ID_OCTETS = 16;
const HASH_OCTETS = 32;
/** Every name at its bound. */
const MANIFEST_OCTETS = 512;

/** `view`: the file of a view. The others are files that control keeps for its nodes. */
export const SNAPSHOT_KINDS = ['view', 'geoip', 'stock-map'] as const;
export type SnapshotKind = (typeof SNAPSHOT_KINDS)[number];

/** What a reader must have in common with the maker. */
export interface FileFormat {
  /** Of keys and values. */
  readonly layout: string;
  /** 0: the file has none. */
  readonly pageSize: number;
  /** Byte order and size of integers. */
  readonly machine: string;
}

export interface Manifest {
  readonly kind: SnapshotKind;
  readonly id: Uint8Array;
  readonly keyId: Uint8Array;
  /** Of the database that a view was built from. */
  readonly epoch: string;
  /** A view: of its last change. Another file: when it was changed, milliseconds since the epoch. */
  readonly seq: number;
  /** When it was made, milliseconds since the epoch. */
  readonly at: number;
  readonly octets: number;
  readonly partOctets: number;
  readonly parts: number;
  readonly sha256: Uint8Array;
  readonly format: FileFormat;
}

export function writeManifest(manifest: Manifest, signer: FeedSigner): Uint8Array {
  const { layout, pageSize, machine } = manifest.format;
  return signer.sign(
    Buffer.concat([
      writePreamble('UQFS', { flags: 0, shard: SHARD }, signer),
      manifest.id,
      manifest.keyId,
      field.u64(manifest.seq),
      field.u64(manifest.at),
      field.u64(manifest.octets),
      field.u64(manifest.partOctets),
      field.u32(manifest.parts),
      manifest.sha256,
      field.u32(pageSize),
      ...[manifest.kind, manifest.epoch, layout, machine].map((text) => field.name(text)),
    ]),
  );
}

/**
 * @param kind that was asked for: a broker may give another one
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openManifest(message: Uint8Array, verifier: FeedVerifier, kind: SnapshotKind): Manifest {
  if (message.length > MANIFEST_OCTETS) throw new FeedRefusedError('size');
  const { reader, flags, shard } = openSigned('UQFS', message, verifier);
  const [id, keyId] = [reader.bytes(ID_OCTETS), reader.bytes(KEY_ID_OCTETS)];
  const [seq, at, octets, partOctets] = [reader.u64(), reader.u64(), reader.u64(), reader.u64()];
  const parts = reader.u32();
  const sha256 = reader.bytes(HASH_OCTETS);
  const pageSize = reader.u32();
  const [named, epoch, layout, machine] = [reader.name(), reader.name(), reader.name(), reader.name()];
  if (reader.left() > 0) throw new FeedRefusedError('size');
  if (flags !== 0 || named !== kind || parts !== partsOf(octets)) throw new FeedRefusedError('format');
  if (shard !== SHARD) throw new FeedRefusedError('shard');
  if (octets > octetsMax(kind)) throw new FeedRefusedError('size');
  const format = { layout, pageSize, machine };
  return { kind, id, keyId, epoch, seq, at, octets, partOctets, parts, sha256, format };
}

export function partsOf(octets: number): number {
  return Math.ceil(octets / LIMITS.feedSnapshotPart);
}

export function octetsMax(kind: SnapshotKind): number {
  return kind === 'view' ? LIMITS.feedSnapshot : LIMITS.feedFile;
}

export function isSameFormat(a: FileFormat, b: FileFormat): boolean {
  return a.layout === b.layout && a.pageSize === b.pageSize && a.machine === b.machine;
}
