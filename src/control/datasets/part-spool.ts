import { type OpenFile, scratchFile } from '../../base/files.ts';
import { LIMITS } from '../../base/limits.ts';
import type { DatasetItem } from '../../protocol/datasets/item.ts';
import { itemText } from '../../store/dataset-changes.ts';
import type { PartKind } from '../../store/datasets.ts';
import { deflatePart, type Part } from '../../store/datasets.ts';
import type { ItemsSink } from './items.ts';

/** Of the division into parts. Raise it with any change of it: an import that another release began then starts again. */
export const LAYOUT = 1;

/** Octets of the items file in one part. */
const LINES_OCTETS = 262_144;
/** JSON of the items of a change: what is around them in the body of a change is shorter than the difference. */
const ITEMS_OCTETS = LIMITS.datasetChange - 256;

/** Kind (1 octet), octets that follow (4). */
const HEAD = 5;
const KINDS: readonly PartKind[] = ['items', 'lines'];

/**
 * A temporary file with the parts of a version, in the order in which they are stored. It is unlinked once it is open. What
 * is stored comes from here, so it is what was checked, whatever becomes of the items file meanwhile.
 */
export class PartSpool implements ItemsSink {
  readonly #file: OpenFile;
  readonly #lines = Buffer.allocUnsafe(LINES_OCTETS);
  #filled = 0;
  #items: string[] = [];
  #itemsOctets = 0;
  #length = 0;
  #parts = 0;

  constructor(path: string) {
    this.#file = scratchFile(path);
  }

  get parts(): number {
    return this.#parts;
  }

  /** Forgets what it holds: the file is read again. */
  restart(): this {
    this.#filled = 0;
    this.#items = [];
    this.#itemsOctets = 0;
    this.#length = 0;
    this.#parts = 0;
    return this;
  }

  octets(part: Uint8Array): void {
    for (let at = 0; at < part.length; ) {
      const taken = part.subarray(at, at + LINES_OCTETS - this.#filled);
      this.#lines.set(taken, this.#filled);
      this.#filled += taken.length;
      at += taken.length;
      if (this.#filled === LINES_OCTETS) this.#endLines();
    }
  }

  item(item: DatasetItem): void {
    const text = itemText(item);
    const octets = Buffer.byteLength(text) + 1;
    if (this.#items.length === LIMITS.datasetChangeItems || this.#itemsOctets + octets > ITEMS_OCTETS) {
      this.#endItems();
    }
    this.#items.push(text);
    this.#itemsOctets += octets;
  }

  /** Ends the last parts. Call it once, after the last item. */
  end(): void {
    this.#endItems();
    this.#endLines();
  }

  /** The parts from this number on. */
  *read(from: number): Generator<Part> {
    const head = Buffer.alloc(HEAD);
    let at = 0;
    for (let part = 0; part < this.#parts; part++) {
      this.#fill(head, at);
      const length = head.readUInt32LE(1);
      at += HEAD;
      if (part >= from) {
        const data = Buffer.allocUnsafe(length);
        this.#fill(data, at);
        yield { kind: KINDS[head[0]!]!, part, data };
      }
      at += length;
    }
  }

  close(): void {
    this.#file.close();
  }

  #endItems(): void {
    if (this.#items.length === 0) return;
    this.#write('items', Buffer.from(`[${this.#items.join(',')}]`));
    this.#items = [];
    this.#itemsOctets = 0;
  }

  #endLines(): void {
    if (this.#filled === 0) return;
    this.#write('lines', this.#lines.subarray(0, this.#filled));
    this.#filled = 0;
  }

  #write(kind: PartKind, octets: Uint8Array): void {
    const data = deflatePart(octets);
    const entry = Buffer.allocUnsafe(HEAD + data.length);
    entry.writeUInt8(KINDS.indexOf(kind), 0);
    entry.writeUInt32LE(data.length, 1);
    data.copy(entry, HEAD);
    this.#file.write(entry, this.#length);
    this.#length += entry.length;
    this.#parts++;
  }

  #fill(buffer: Buffer, from: number): void {
    if (this.#file.read(buffer, from) < buffer.length) {
      throw new Error('the temporary file of an import ends early');
    }
  }
}
