import type { ItemFacts } from '../../protocol/datasets/item.ts';
import type { SignedManifest } from '../../protocol/datasets/manifest.ts';
import { EARLIEST } from '../../protocol/datasets/query.ts';
import type { PublishedKey } from '../../protocol/datasets/signed-text.ts';

/**
 * Values of the dataset tables. The windows of an item are one value: two instants, the two letters of the country, and
 * three texts with a length byte each. A window without texts takes 15 octets.
 */

/** An instant: 0 for open, else seconds since `EARLIEST`, plus one. Five octets hold the year 9999. */
const INSTANT_OCTETS = 5;
/** 64 windows with texts at their bounds take 25,664 octets. */
const scratch = Buffer.alloc(32_768);
export const ID_OCTETS = 16;

/** Valid until the next value is made. */
export function encodeWindows(windows: readonly ItemFacts[]): Buffer {
  let at = 0;
  for (const { from, to, cc, issuer, brand, type } of windows) {
    at = putInstant(at, from);
    at = putInstant(at, to);
    at += scratch.write(cc, at, 2, 'latin1');
    at = putText(at, issuer);
    at = putText(at, brand);
    at = putText(at, type);
  }
  return scratch.subarray(0, at);
}

export function decodeWindows(bytes: Buffer): ItemFacts[] {
  const windows: ItemFacts[] = [];
  const end = bytes.length;
  for (let at = 0; at < end; ) {
    const from = instantAt(bytes, at);
    const to = instantAt(bytes, at + INSTANT_OCTETS);
    const cc = bytes.toString('latin1', at + 2 * INSTANT_OCTETS, at + 2 * INSTANT_OCTETS + 2);
    at += 2 * INSTANT_OCTETS + 2;
    const issuer = textAt(bytes, at);
    at += 1 + bytes[at]!;
    const brand = textAt(bytes, at);
    at += 1 + bytes[at]!;
    const type = textAt(bytes, at);
    at += 1 + bytes[at]!;
    windows.push({ from, to, issuer, brand, cc, type });
  }
  return windows;
}

/** A manifest with the id of its version. */
export function encodeManifest(id: Uint8Array, manifest: SignedManifest): Buffer {
  return Buffer.concat([id, Buffer.from(JSON.stringify(manifest))]);
}

export function decodeManifest(bytes: Buffer): SignedManifest {
  return JSON.parse(bytes.toString('utf8', ID_OCTETS, bytes.length)) as SignedManifest;
}

/** A copy of the id at the start of the value. */
export function idOf(bytes: Buffer): Uint8Array {
  return Uint8Array.from(bytes.subarray(0, ID_OCTETS));
}

export function encodePublicKey({ publicKey, since, end }: PublishedKey): Buffer {
  return Buffer.from(JSON.stringify([Buffer.from(publicKey).toString('base64'), since, end]));
}

export function decodePublicKey(bytes: Buffer): PublishedKey {
  const [publicKey, since, end] = JSON.parse(bytes.toString('latin1', 0, bytes.length)) as [
    string,
    number,
    number | null,
  ];
  return { publicKey: Buffer.from(publicKey, 'base64'), since, end };
}

/** Names a version by its slug and number. */
export function encodeVersion(slug: string, version: string): Buffer {
  return Buffer.from(`${slug}\0${version}`, 'latin1');
}

export function decodeVersion(bytes: Buffer): readonly [slug: string, version: string] {
  const [slug, version] = bytes.toString('latin1', 0, bytes.length).split('\0') as [string, string];
  return [slug, version];
}

function putInstant(at: number, instant: number | null): number {
  return scratch.writeUIntBE(instant === null ? 0 : instant - EARLIEST + 1, at, INSTANT_OCTETS);
}

function instantAt(bytes: Buffer, at: number): number | null {
  const stored = bytes.readUIntBE(at, INSTANT_OCTETS);
  return stored === 0 ? null : stored + EARLIEST - 1;
}

function putText(at: number, text: string): number {
  const length = scratch.write(text, at + 1);
  scratch[at] = length;
  return at + 1 + length;
}

function textAt(bytes: Buffer, at: number): string {
  const length = bytes[at]!;
  return length === 0 ? '' : bytes.toString('utf8', at + 1, at + 1 + length);
}
