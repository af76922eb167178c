import { TABLE_OCTETS } from '../limits.ts';
import { FIELD_OVERHEAD, type Field } from './field.ts';
import { STATIC_TABLE } from './static-table.ts';

/** The minimum size of a field bounds the number of entries. */
const CAPACITY = TABLE_OCTETS / FIELD_OVERHEAD;

/** The tables of a decoder: static, then dynamic with the newest entry first (RFC 7541 §2.3, §4). */
export class HpackTable {
  /** Increases with each change of the dynamic table: equal versions decode a block equally. */
  generation = 0;
  /** A ring. Unused positions are undefined, so that evicted fields can be collected. */
  readonly #ring: (Field | undefined)[] = [];
  #newest = 0;
  #count = 0;
  #octets = 0;
  #limit = TABLE_OCTETS;

  /** @returns undefined for an index without an entry, 0 included */
  at(index: number): Field | undefined {
    if (index <= STATIC_TABLE.length) return STATIC_TABLE[index - 1];
    const age = index - STATIC_TABLE.length - 1;
    return age < this.#count ? this.#ring[(this.#newest - age + CAPACITY) % CAPACITY] : undefined;
  }

  /** A field larger than the table empties it (RFC 7541 §4.4). */
  insert(field: Field): void {
    this.generation++;
    this.#evict(this.#limit - field.octets);
    if (field.octets > this.#limit) return;
    this.#newest = (this.#newest + 1) % CAPACITY;
    this.#ring[this.#newest] = field;
    this.#count++;
    this.#octets += field.octets;
  }

  /** @returns false for a size above our limit */
  resize(octets: number): boolean {
    if (octets > TABLE_OCTETS) return false;
    this.generation++;
    this.#limit = octets;
    this.#evict(octets);
    return true;
  }

  #evict(octets: number): void {
    while (this.#count > 0 && this.#octets > octets) {
      const oldest = (this.#newest - this.#count + 1 + CAPACITY) % CAPACITY;
      this.#octets -= this.#ring[oldest]!.octets;
      this.#ring[oldest] = undefined;
      this.#count--;
    }
  }
}
