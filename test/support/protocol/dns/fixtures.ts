/** What the tests of this folder share: fixture files, hex, and generators of names. */

import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { foldName, nameFromText, skipPlainName } from '../../../../src/protocol/dns/name.ts';
import { concatOctets } from '../../../../src/protocol/dns/octets.ts';

const FIXTURES = new URL('../../../fixtures/wire/', import.meta.url);

/** The cases of a fixture file: one a line, up to three columns between `|`, absent ones empty; `#` begins a comment line. */
export function fixtureCases(file: string): [string, string, string][] {
  return readFileSync(new URL(file, FIXTURES), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^#(?: |$)/.test(line))
    .map((line) => {
      const [first = '', second = '', third = ''] = line.split('|').map((column) => column.trim());
      return [first, second, third];
    });
}

/** Octets from hex; spaces are allowed, and `@12` pads with zeros up to offset 12. */
export function fromHex(text: string): Uint8Array {
  let hex = '';
  for (const part of text.split(' ')) {
    hex = part.startsWith('@') ? hex.padEnd(2 * Number(part.slice(1)), '0') : hex + part;
  }
  const octets = Uint8Array.from(Buffer.from(hex, 'hex'));
  if (octets.length * 2 !== hex.length) throw new RangeError(`not hex: ${text}`);
  return octets;
}

export function toHex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex');
}

/** The wire form of a name that a test is sure of. */
export function wireName(text: string): Uint8Array {
  const name = nameFromText(text);
  if (name === null) throw new RangeError(`not a name: ${text}`);
  return name;
}

/** Whether `name` is exactly one well-formed uncompressed name. */
export function isWireName(name: Uint8Array): boolean {
  return skipPlainName(name, 0, name.length) === name.length;
}

/** Equality without regard to ASCII case (RFC 4343 §3). */
export function nameEquals(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(foldName(a), foldName(b)) === 0;
}

/** A name of labels with these sizes, all of the letter `a`. */
export function nameOfLabels(...sizes: number[]): Uint8Array {
  const labels = sizes.map((size) => Uint8Array.of(size, ...Buffer.alloc(size, 'a')));
  return concatOctets([...labels, Uint8Array.of(0)]);
}

/** Any wire name: up to 255 octets, labels of any octets, with a bias to a few labels so that suffixes repeat. */
export function anyName(): fc.Arbitrary<Uint8Array> {
  const label = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom('com', 'COM', 'example', 'www', 'a').map((text) => Buffer.from(text)),
    },
    { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 63 }) },
  );
  return fc.array(label, { maxLength: 8 }).map((labels) => {
    const kept: Uint8Array[] = [];
    let octets = 1;
    for (const octetsOfLabel of labels) {
      octets += 1 + octetsOfLabel.length;
      if (octets > 255) break;
      kept.push(Uint8Array.of(octetsOfLabel.length), Uint8Array.from(octetsOfLabel));
    }
    return concatOctets([...kept, Uint8Array.of(0)]);
  });
}
