import type { RequestHead } from '../request.ts';
import { ERROR } from './frames.ts';
import { HpackDecoder } from './hpack-decoder.ts';
import { type HeaderField, KIND } from './hpack-field.ts';
import { BLOCK_OCTETS, CONTINUATIONS, HEADER_FIELDS, HEADER_LIST_OCTETS } from './limits.ts';

type HeadFault = typeof ERROR.protocol | typeof ERROR.compression;

/** Octets of the longest remembered block. */
const REMEMBERED_OCTETS = 256;

/** Collects the fields of one list and checks them together (RFC 9113 §8.3). */
class FieldList {
  #fields = 0;
  #octets = 0;
  #regular = false;
  #malformed = false;
  #method: string | undefined;
  #scheme: string | undefined;
  #authority: string | undefined;
  #path: string | undefined;
  #contentType: string | undefined;
  #contentLength: string | undefined;

  readonly take = (field: HeaderField): void => {
    this.#fields++;
    this.#octets += field.octets;
    switch (field.kind) {
      case KIND.method:
        this.#method = this.#pseudo(this.#method, field);
        return;
      case KIND.scheme:
        this.#scheme = this.#pseudo(this.#scheme, field);
        return;
      case KIND.authority:
        this.#authority = this.#pseudo(this.#authority, field);
        return;
      case KIND.path:
        this.#path = this.#pseudo(this.#path, field);
        return;
      case KIND.malformed:
        this.#malformed = true;
        return;
      case KIND.contentType:
        this.#contentType ??= field.value;
        break;
      case KIND.contentLength:
        // A repeated equal value is harmless (RFC 9110 §8.6).
        if (this.#contentLength !== undefined && this.#contentLength !== field.value) this.#malformed = true;
        this.#contentLength = field.value;
        break;
      default:
    }
    this.#regular = true;
  };

  /** Pseudo-header fields: once each, before all other fields. */
  #pseudo(before: string | undefined, { value }: HeaderField): string {
    if (before !== undefined || this.#regular) this.#malformed = true;
    return value;
  }

  request(): RequestHead | HeadFault {
    const connect = this.#method === 'CONNECT';
    const complete = connect
      ? this.#authority !== undefined && this.#scheme === undefined && this.#path === undefined
      : this.#method !== undefined && this.#scheme !== undefined && this.#path !== undefined;
    if (this.#malformed || !complete) return ERROR.protocol;
    return {
      method: this.#method!,
      target: this.#path ?? '',
      contentType: this.#contentType,
      contentLength: this.#contentLength,
      tooLarge: this.#fields > HEADER_FIELDS || this.#octets > HEADER_LIST_OCTETS,
    };
  }

  /** Trailers have no pseudo-header fields (RFC 9113 §8.1). */
  get isTrailers(): boolean {
    const pseudo = this.#method ?? this.#scheme ?? this.#authority ?? this.#path;
    return !this.#malformed && pseudo === undefined;
  }
}

/** Decodes the header blocks of one connection, in order. */
export class HeadReader {
  readonly #decoder = new HpackDecoder();
  /** The last block and its head, valid while the table is unchanged: clients that POST repeat the same block. */
  #block: Buffer | null = null;
  #generation = 0;
  #head: RequestHead | null = null;

  /** @returns a fault of the stream (`protocol`) or of the connection (`compression`) */
  request(block: Buffer, from: number, to: number): RequestHead | HeadFault {
    if (this.#head !== null && this.#repeats(block, from, to)) return this.#head;
    const list = new FieldList();
    const before = this.#decoder.generation;
    if (!this.#decoder.decode(block, from, to, list.take)) return ERROR.compression;
    const head = list.request();
    if (typeof head !== 'number') this.#remember(block, from, to, head, before);
    return head;
  }

  /** @returns 0, or a fault as of `request` */
  trailers(block: Buffer, from: number, to: number): HeadFault | 0 {
    const list = new FieldList();
    if (!this.#decoder.decode(block, from, to, list.take)) return ERROR.compression;
    return list.isTrailers ? 0 : ERROR.protocol;
  }

  #remember(block: Buffer, from: number, to: number, head: RequestHead, before: number): void {
    const generation = this.#decoder.generation;
    if (generation !== before || to - from > REMEMBERED_OCTETS) return;
    this.#block = Buffer.copyBytesFrom(block, from, to - from);
    this.#generation = generation;
    this.#head = head;
  }

  #repeats(block: Buffer, from: number, to: number): boolean {
    const known = this.#block!;
    if (to - from !== known.length || this.#generation !== this.#decoder.generation) return false;
    for (let i = 0; i < known.length; i++) if (known[i] !== block[from + i]) return false;
    return true;
  }
}

export interface BlockFrame {
  readonly streamId: number;
  readonly endStream: boolean;
  /** The stream depends on itself: an error. */
  readonly selfDependent: boolean;
}

/** A header block in several frames. No other frame may come between them (RFC 9113 §6.10). */
export class HeaderBlock {
  /** The first frame of an incomplete block. */
  open: BlockFrame | null = null;
  #octets: Buffer = Buffer.alloc(0);
  #length = 0;
  #frames = 0;

  begin(frame: BlockFrame, octets: Buffer, from: number, to: number): void {
    this.open = frame;
    this.#length = 0;
    this.#frames = 0;
    this.#append(octets, from, to);
  }

  /** @returns false when the block has too many octets or frames */
  continue(octets: Buffer, from: number, to: number): boolean {
    this.#frames++;
    if (this.#frames > CONTINUATIONS || this.#length + to - from > BLOCK_OCTETS) return false;
    this.#append(octets, from, to);
    return true;
  }

  /** The whole block; its memory is released. */
  finish(): Buffer {
    const block = this.#octets.subarray(0, this.#length);
    this.open = null;
    this.#octets = Buffer.alloc(0);
    return block;
  }

  #append(octets: Buffer, from: number, to: number): void {
    const needed = this.#length + to - from;
    if (needed > this.#octets.length) {
      const grown = Buffer.allocUnsafe(Math.min(BLOCK_OCTETS, Math.max(needed, 2 * this.#octets.length)));
      this.#octets.copy(grown, 0, 0, this.#length);
      this.#octets = grown;
    }
    octets.copy(this.#octets, this.#length, from, to);
    this.#length = needed;
  }
}
