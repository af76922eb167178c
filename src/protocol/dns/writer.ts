/** Builds messages in a growing buffer that is used again, with name compression (RFC 1035 §4.1.4). */

import { FNV_START, fnvEnd, fnvStep } from '../../base/hashes.ts';
import { u16At } from './octets.ts';
import { HEADER_OCTETS } from './skim.ts';

const FIRST_CAPACITY = 1232;
const MAX_MESSAGE_OCTETS = 0xffff;
/** A pointer has 14 bits of offset. */
const POINTER_LIMIT = 0x4000;
const POINTER_BITS = 0xc000;
const POINTER_OCTET = 0xc0;
const MAX_LABELS = 127;
/** Open addressing: a power of two, at most half full. A name that short probes do not find is written out. */
const SLOTS = 1024;
const MAX_ENTRIES = SLOTS / 2;
const MAX_PROBES = 8;

// Shared scratch: one name is written at a time.
const labelAt = new Uint8Array(MAX_LABELS);
const suffixHash = new Uint32Array(MAX_LABELS);

/** Writes big-endian fields. `reset` reuses the buffer. Throws `RangeError` above 65535 octets. */
export class MessageWriter {
  length = 0;
  private buffer: Buffer;
  /** Offsets of name suffixes by hash; 0 is empty, since no name starts in the header. */
  private readonly slots = new Uint16Array(SLOTS);
  private entries = 0;

  constructor(capacity: number = FIRST_CAPACITY) {
    this.buffer = Buffer.allocUnsafeSlow(capacity);
  }

  /** Starts the next message in the same buffer. Earlier views change with it. */
  reset(): void {
    this.length = 0;
    if (this.entries > 0) {
      this.slots.fill(0);
      this.entries = 0;
    }
  }

  u8(value: number): void {
    const at = this.advance(1);
    this.buffer[at] = value;
  }

  u16(value: number): void {
    const at = this.advance(2);
    this.buffer[at] = value >>> 8;
    this.buffer[at + 1] = value;
  }

  u32(value: number): void {
    const at = this.advance(4);
    this.buffer[at] = value >>> 24;
    this.buffer[at + 1] = value >>> 16;
    this.buffer[at + 2] = value >>> 8;
    this.buffer[at + 3] = value;
  }

  bytes(value: Uint8Array): void {
    const at = this.advance(value.length);
    this.buffer.set(value, at);
  }

  /** Overwrites 16 bits that were already written. */
  patch16(at: number, value: number): void {
    if (at < 0 || at + 2 > this.length) throw new RangeError(`nothing written at ${at}`);
    this.buffer[at] = value >>> 8;
    this.buffer[at + 1] = value;
  }

  /**
   * Writes a wire name. With `compress`, a pointer replaces the longest suffix that was written in the same case, so
   * that 0x20 echoes and signed names keep their case.
   */
  name(wire: Uint8Array, compress: boolean): void {
    if (!compress) {
      this.bytes(wire);
      return;
    }
    const labels = hashSuffixes(wire);
    let known = 0;
    let target = 0;
    while (known < labels) {
      target = this.find(suffixHash[known]!, wire, labelAt[known]!);
      if (target !== 0) break;
      known++;
    }
    const start = this.length;
    const literal = target === 0 ? wire.length : labelAt[known]!;
    this.advance(literal);
    for (let i = 0; i < literal; i++) this.buffer[start + i] = wire[i]!;
    if (target !== 0) this.u16(POINTER_BITS | target);
    for (let i = 0; i < known; i++) this.remember(suffixHash[i]!, start + labelAt[i]!);
  }

  /** The octets so far. Shares memory with the writer until `reset`. */
  view(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  /** A copy from Node's pool. Small copies share a slab: copy again what is kept for long. */
  finish(): Buffer {
    const copy = Buffer.allocUnsafe(this.length);
    this.buffer.copy(copy, 0, 0, this.length);
    return copy;
  }

  private advance(octets: number): number {
    const at = this.length;
    const length = at + octets;
    if (length > this.buffer.length) this.grow(length);
    this.length = length;
    return at;
  }

  private grow(length: number): void {
    if (length > MAX_MESSAGE_OCTETS) throw new RangeError('a DNS message holds at most 65535 octets');
    const grown = Buffer.allocUnsafeSlow(
      Math.min(MAX_MESSAGE_OCTETS, Math.max(length, this.buffer.length * 2)),
    );
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }

  private find(hash: number, wire: Uint8Array, from: number): number {
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const target = this.slots[(hash + probe) & (SLOTS - 1)]!;
      if (target === 0) return 0;
      if (this.matches(target, wire, from)) return target;
    }
    return 0;
  }

  /** Whether the name at `target` equals `wire` from `from` on. */
  private matches(target: number, wire: Uint8Array, from: number): boolean {
    const buffer = this.buffer;
    let at = target;
    let i = from;
    // Bounded by the length of `wire`, for any content of the buffer.
    while (i < wire.length) {
      if (buffer[at]! >= POINTER_OCTET) at = u16At(buffer, at) & (POINTER_LIMIT - 1);
      const octets = buffer[at]!;
      if (octets !== wire[i]) return false;
      for (const labelEnd = i + octets; i < labelEnd; ) {
        if (buffer[++at] !== wire[++i]) return false;
      }
      at++;
      i++;
    }
    return true;
  }

  private remember(hash: number, offset: number): void {
    if (offset < HEADER_OCTETS || offset >= POINTER_LIMIT || this.entries >= MAX_ENTRIES) return;
    for (let probe = 0; probe < MAX_PROBES; probe++) {
      const slot = (hash + probe) & (SLOTS - 1);
      if (this.slots[slot] !== 0) continue;
      this.slots[slot] = offset;
      this.entries++;
      return;
    }
  }
}

/** Fills `labelAt` and `suffixHash` for each label. Returns the number of labels. */
function hashSuffixes(wire: Uint8Array): number {
  let labels = 0;
  for (let at = 0; wire[at]! > 0; at += 1 + wire[at]!) labelAt[labels++] = at;
  let hash = FNV_START;
  let end = wire.length - 1;
  for (let label = labels - 1; label >= 0; label--) {
    const start = labelAt[label]!;
    for (let i = start; i < end; i++) hash = fnvStep(hash, wire[i]!);
    suffixHash[label] = fnvEnd(hash);
    end = start;
  }
  return labels;
}
