/**
 * One short-lived child process of name-loop.ts: `node name-loop-child.ts SEED MILLISECONDS`. Writes names with
 * compression through both loops, and sends the count of comparisons to the parent after each round.
 */

import { MessageWriter } from '../../src/protocol/dns/writer.ts';
import { seededRng } from '../support/protocol/dns/fuzz.ts';

const POINTER_OCTET = 0xc0;
const ROUND = 200;
const [seed, lifeMs] = process.argv.slice(2).map(Number) as [number, number];
const rng = seededRng(seed);
const letters = 'abcABC019-';

/** The loop before November 2026: only the octets end it. */
function matchesUnbounded(buffer: Uint8Array, target: number, wire: Uint8Array, from: number): boolean {
  let at = target;
  let i = from;
  for (;;) {
    if (buffer[at]! >= POINTER_OCTET) at = ((buffer[at]! << 8) | buffer[at + 1]!) & 0x3fff;
    const octets = buffer[at]!;
    if (octets !== wire[i]) return false;
    if (octets === 0) return true;
    for (const labelEnd = at + octets; at < labelEnd; ) {
      if (buffer[++at] !== wire[++i]) return false;
    }
    at++;
    i++;
  }
}

/** The same comparison without the loop under test: expands both names to text. */
function matchesByText(buffer: Uint8Array, target: number, wire: Uint8Array, from: number): boolean {
  return expand(buffer, target) === expand(wire, from);
}

function expand(octets: Uint8Array, start: number): string {
  const labels: string[] = [];
  let at = start;
  for (let hops = 0; hops < 200; hops++) {
    const length = octets[at]!;
    if (length >= POINTER_OCTET) at = ((length << 8) | octets[at + 1]!) & 0x3fff;
    else if (length === 0) break;
    else {
      labels.push(Buffer.from(octets.subarray(at + 1, at + 1 + length)).toString('latin1'));
      at += length + 1;
    }
  }
  return labels.join('.');
}

function randomName(shared: readonly Uint8Array[]): Uint8Array {
  const octets: number[] = [];
  for (let labels = rng(5); labels > 0; labels--) {
    const length = 1 + rng(rng(8) === 0 ? 63 : 6);
    octets.push(length);
    for (let i = 0; i < length; i++) octets.push(letters.charCodeAt(rng(letters.length)));
  }
  const tail = shared[rng(shared.length)]!;
  const name = [...octets, ...tail];
  return name.length > 255 ? tail : Uint8Array.from(name);
}

const tails = ['', 'net', 'uqrp.net', 'v1.uqrp.net', 'acme.v1.uqrp.net', 'ACME.v1.uqrp.net'].map((text) =>
  Uint8Array.from([
    ...text.split('.').flatMap((label) => (label === '' ? [] : [label.length, ...Buffer.from(label)])),
    0,
  ]),
);

const writer = new MessageWriter();
const endsAt = Date.now() + lifeMs;
let compared = 0;
while (Date.now() < endsAt) {
  for (let round = 0; round < ROUND; round++) {
    writer.reset();
    writer.bytes(new Uint8Array(12));
    const starts: number[] = [];
    const names = Array.from({ length: 1 + rng(8) }, () => randomName(tails));
    for (const name of names) {
      starts.push(writer.length);
      writer.name(name, true);
    }
    const octets = rng(2) === 0 ? writer.view() : writer.finish();
    for (const start of starts) {
      const name = names[rng(names.length)]!;
      compared++;
      if (matchesUnbounded(octets, start, name, 0) !== matchesByText(octets, start, name, 0)) {
        process.send?.({ differs: true });
        process.exit(1);
      }
    }
  }
  process.send?.({ compared });
}
