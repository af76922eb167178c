/**
 * What a snapshot is: a message of control to all nodes. Its parts lie beside it.
 *
 * | octets | clear part |
 * |---|---|
 * | 16, 16 | id of the snapshot, id of the hourly key of its parts |
 * | 8 | `seq` |
 * | 8, 8, 4 | octets of the content, of all parts, number of parts |
 * | 32 | SHA-256 of the content |
 * | 4 | page size |
 * | 1 + n, each | kind, epoch, layout, machine |
 */

import type { Random } from '../../base/chance.ts';
import { LIMITS } from '../../base/limits.ts';
import { NONCE_OCTETS } from '../../base/seal.ts';
import { compress, decompress, field, fieldReader } from '../message/fields.ts';
import { decryptBody, encryptBody, type FeedKey, type FeedVerifier, KEY_ID_OCTETS } from '../message/keys.ts';
import {
  ALL_NODES,
  controlOnly,
  type MessageSigning,
  openMessage,
  writeMessage,
} from '../message/message.ts';
import { CONTROL_NAME } from '../ports/credentials.ts';
import { FeedRefusedError } from '../ports/refusal.ts';

export const SNAPSHOT_ID_OCTETS = 16;
const HASH_OCTETS = 32;
/** Every name at its bound. */
const MANIFEST_OCTETS = 640;

/** `view`: the file of a view. The others are files that control keeps for its nodes. */
const SNAPSHOT_KINDS = ['view', 'geoip', 'stock-map'] as const;
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

export interface SnapshotManifest {
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

/** What a snapshot is made of. */
export interface SnapshotContent {
  readonly kind: SnapshotKind;
  readonly epoch: string;
  readonly seq: number;
  readonly format: FileFormat;
  /** Read once, in pieces of any length. */
  readonly content: AsyncIterable<Uint8Array>;
}

export function writeManifest(manifest: SnapshotManifest, signing: MessageSigning): Uint8Array {
  const { layout, pageSize, machine } = manifest.format;
  const clear = Buffer.concat([
    manifest.id,
    manifest.keyId,
    field.u64(manifest.seq),
    field.u64(manifest.octets),
    field.u64(manifest.partOctets),
    field.u32(manifest.parts),
    manifest.sha256,
    field.u32(pageSize),
    ...[manifest.kind, manifest.epoch, layout, machine].map((text) => field.name(text)),
  ]);
  const fields = { kind: 'snapshot', from: CONTROL_NAME, to: ALL_NODES, at: manifest.at } as const;
  return writeMessage({ ...fields, clear }, signing);
}

/**
 * @param kind that was asked for: a broker may give another one
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openManifest(
  message: Uint8Array,
  verifier: FeedVerifier,
  kind: SnapshotKind,
): SnapshotManifest {
  if (message.length > MANIFEST_OCTETS) throw new FeedRefusedError('size');
  const { at, clear } = openMessage(message, ['snapshot'], ALL_NODES, controlOnly(verifier));
  const reader = fieldReader(clear);
  const [id, keyId] = [reader.bytes(SNAPSHOT_ID_OCTETS), reader.bytes(KEY_ID_OCTETS)];
  const [seq, octets, partOctets] = [reader.u64(), reader.u64(), reader.u64()];
  const parts = reader.u32();
  const sha256 = reader.bytes(HASH_OCTETS);
  const pageSize = reader.u32();
  const [named, epoch, layout, machine] = [reader.name(), reader.name(), reader.name(), reader.name()];
  if (reader.left() > 0) throw new FeedRefusedError('size');
  if (named !== kind || parts !== partsOf(octets)) throw new FeedRefusedError('format');
  if (octets > octetsMax(kind)) throw new FeedRefusedError('size');
  const format = { layout, pageSize, machine };
  return { kind, id, keyId, epoch, seq, at, octets, partOctets, parts, sha256, format };
}

function partsOf(octets: number): number {
  return Math.ceil(octets / LIMITS.feedSnapshotPart);
}

export function octetsMax(kind: SnapshotKind): number {
  return kind === 'view' ? LIMITS.feedSnapshot : LIMITS.feedFile;
}

export function isSameFormat(a: FileFormat, b: FileFormat): boolean {
  return a.layout === b.layout && a.pageSize === b.pageSize && a.machine === b.machine;
}

/** Names of manifests and parts at the broker. A kind has two manifests, so that the older snapshot stays while one is made. */

export const SLOTS = [0, 1] as const;
export type Slot = (typeof SLOTS)[number];

export function manifestName(kind: SnapshotKind, slot: Slot): string {
  return `${kind}.manifest.${slot}`;
}

export function partName({ kind, id }: Pick<SnapshotManifest, 'kind' | 'id'>, index: number): string {
  return `${kind}.${idText(id)}.${index}`;
}

/** Whether a part belongs to none of these snapshots: what a writer that was killed has left, or of an older snapshot. */
export function isLeftOver(name: string, kind: SnapshotKind, kept: readonly Uint8Array[]): boolean {
  const [of, id] = name.split('.');
  return of === kind && id !== 'manifest' && !kept.some((keptId) => idText(keptId) === id);
}

export function idText(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}

/**
 * One part of a snapshot: some octets of the content, compressed by themselves and encrypted under an hourly key. A nonce of 12 octets,
 * then AES-256-GCM. The associated data are the id of the snapshot and the number of the part, so that a broker cannot exchange parts.
 */

const CONTEXT = Buffer.from('uqrp snapshot part 1');

interface PartPlace {
  /** Of the snapshot. */
  readonly id: Uint8Array;
  /** From 0. */
  readonly index: number;
}

function associated({ id, index }: PartPlace): Uint8Array {
  return Buffer.concat([CONTEXT, id, field.u32(index)]);
}

export function writePart(plain: Uint8Array, place: PartPlace, key: FeedKey, random: Random): Uint8Array {
  const nonce = random(NONCE_OCTETS);
  return Buffer.concat([nonce, encryptBody(key, nonce, associated(place), compress(plain))]);
}

/**
 * @param octets of the content in this part
 * @throws FeedRefusedError and nothing else, whatever the bytes are
 */
export function openPart(message: Uint8Array, place: PartPlace, key: FeedKey, octets: number): Uint8Array {
  if (message.length <= NONCE_OCTETS || message.length > LIMITS.feedMessage)
    throw new FeedRefusedError('size');
  const nonce = message.subarray(0, NONCE_OCTETS);
  return decompress(decryptBody(key, nonce, associated(place), message.subarray(NONCE_OCTETS)), octets);
}

/** The content cut into parts, whatever the pieces are that it comes in. All but the last are full. */
export async function* partsIn(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = [];
  let octets = 0;
  for await (const piece of content) {
    held.push(piece);
    octets += piece.length;
    if (octets < LIMITS.feedSnapshotPart) continue;
    const whole = Buffer.concat(held);
    let at = 0;
    for (; octets - at >= LIMITS.feedSnapshotPart; at += LIMITS.feedSnapshotPart) {
      yield whole.subarray(at, at + LIMITS.feedSnapshotPart);
    }
    held = [whole.subarray(at)];
    octets -= at;
  }
  if (octets > 0) yield Buffer.concat(held);
}
