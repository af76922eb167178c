import { seededRng } from '../protocol/dns/fuzz.ts';
import { head, SAID } from './responses.ts';

/** What one misbehaving server writes, made from a seed: the same for the same seed. */
export interface HostileScript {
  readonly title: string;
  /** Written one after the other, each after the one before has left. */
  readonly parts: readonly Buffer[];
  /** What follows. `endless`: `filler` until the client closes. `silence`: nothing, the connection stays open. */
  readonly end: 'end' | 'destroy' | 'reset' | 'endless' | 'silence';
  readonly filler: Buffer;
  /** The status that the client must get, once everything has arrived; `fault`: none; `any`: either. */
  readonly expected: number | 'fault' | 'any';
}

type Rng = ReturnType<typeof seededRng>;
type Shape = (rng: Rng) => Pick<HostileScript, 'title' | 'expected'> & { readonly octets: Buffer };

/** Larger responses of the table would make a thousand servers slow; the table itself is tested elsewhere. */
const SMALL = SAID.map(([title, said, expected]) => ({
  title,
  octets: Buffer.from(said as string),
  expected,
})).filter(({ octets }) => octets.length < 20_000);

const pick = <T>(rng: Rng, from: readonly T[]): T => from[rng(from.length)]!;
const noise = (rng: Rng, length: number): Buffer => Buffer.from(Array.from({ length }, () => rng(256)));
const statusOf = (rng: Rng): number => 200 + rng(400);

/** Lines that are no header field. */
const BAD_LINES = [
  ': no name',
  'no colon',
  'A b: space in the name',
  'A : space before the colon',
  'A: nul\0',
  'A: bare\rCR',
  'Content-Length: -1',
  'Content-Length: 1e3',
  'Content-Length: 5\r\nContent-Length: 6',
  'Content-Length: 5\r\nTransfer-Encoding: chunked',
  'Ä: x',
];

const SHAPES: readonly Shape[] = [
  (rng) => {
    const { title, octets, expected } = pick(rng, SMALL);
    return { title, octets, expected: typeof expected === 'number' ? expected : 'fault' };
  },
  // Bits, octets and pieces of a good or bad response changed at random.
  (rng) => {
    const { title, octets } = pick(rng, SMALL);
    let changed = octets;
    for (let count = 1 + rng(4); count > 0; count--) {
      const at = rng(changed.length);
      const piece = pick(rng, [noise(rng, rng(4)), Buffer.from('\r\n'), Buffer.from('\n'), Buffer.of(0)]);
      changed = Buffer.concat([changed.subarray(0, at), piece, changed.subarray(at + rng(3))]);
    }
    return { title: `changed: ${title}`, octets: changed, expected: 'any' };
  },
  (rng) => {
    const { title, octets } = pick(rng, SMALL);
    return { title: `cut short: ${title}`, octets: octets.subarray(0, rng(octets.length)), expected: 'any' };
  },
  // Node's parser skips such lines, or not, depending on what it has parsed before.
  (rng) => ({
    title: 'empty lines before the head',
    octets: Buffer.from('\r\n'.repeat(1 + rng(3)) + head(`${statusOf(rng)} x`)),
    expected: 'any',
  }),
  (rng) => ({
    title: 'noise',
    octets: Buffer.concat([Buffer.of(rng(72)), noise(rng, rng(300))]),
    expected: 'fault',
  }),
  (rng) => ({
    title: 'a line that is no field',
    octets: Buffer.from(head(`${statusOf(rng)} x`, 'A: b', pick(rng, BAD_LINES), 'C: d'), 'latin1'),
    expected: 'fault',
  }),
  // A response is over with its head: nothing behind it counts.
  (rng) => {
    const status = statusOf(rng);
    const good = Buffer.from(head(`${status} x`, `X-N: ${rng(1e6)}`, `Content-Length: ${rng(1e6)}`));
    return {
      title: 'garbage after the head',
      octets: Buffer.concat([good, noise(rng, rng(2000))]),
      expected: status,
    };
  },
  (rng) => {
    const status = statusOf(rng);
    const interim = rng(20);
    return {
      title: `${interim} interim responses`,
      octets: Buffer.from(head('103 Early Hints', 'Link: </x>').repeat(interim) + head(`${status} x`)),
      expected: interim > 16 ? 'fault' : status,
    };
  },
  (rng) => {
    const status = statusOf(rng);
    const fields = rng(2500);
    const lines = Array.from({ length: fields }, (_, n) => `X-${n % 10}: ${n % 10}`);
    // Each field counts four octets, the reason one; Node drops fields above 2,000 and goes on.
    return {
      title: `${fields} fields`,
      octets: Buffer.from(head(`${status} x`, ...lines)),
      expected: status,
    };
  },
];

/** Beginnings that never become a head, however much follows. */
const ENDLESS: readonly (readonly [title: string, start: string, filler: string])[] = [
  ['endless fields', 'HTTP/1.1 200 OK\r\n', 'X-Some: thing\r\n'.repeat(500)],
  ['an endless value', 'HTTP/1.1 200 OK\r\nX: ', 'x'.repeat(8192)],
  ['an endless name', 'HTTP/1.1 200 OK\r\n', 'x'.repeat(8192)],
  ['an endless reason', 'HTTP/1.1 200 ', 'x'.repeat(8192)],
  ['endless interim responses', '', head('100 Continue').repeat(100)],
  ['endless noise', '', '\0\xff'.repeat(4096)],
];

export function hostileScript(seed: number): HostileScript {
  const rng = seededRng(seed);
  if (rng(8) === 0) {
    const [title, start, filler] = pick(rng, ENDLESS);
    return {
      title,
      parts: start === '' ? [] : [Buffer.from(start)],
      end: 'endless',
      filler: Buffer.from(filler, 'latin1'),
      expected: 'fault',
    };
  }
  const { title, octets, expected } = pick(rng, SHAPES)(rng);
  const end = pick(rng, ['end', 'end', 'end', 'destroy', 'reset', 'silence'] as const);
  return {
    title: `${title}, then ${end}`,
    parts: split(rng, octets),
    end,
    filler: Buffer.alloc(0),
    expected,
  };
}

/** In one piece, in a few, or the first octets one by one. */
function split(rng: Rng, octets: Buffer): Buffer[] {
  const way = rng(3);
  if (way === 0 || octets.length === 0) return [octets];
  const cuts =
    way === 1
      ? Array.from({ length: rng(5) }, () => rng(octets.length)).toSorted((a, b) => a - b)
      : Array.from({ length: Math.min(40, octets.length) }, (_, n) => n);
  return [0, ...cuts]
    .map((from, n) => octets.subarray(from, cuts[n] ?? octets.length))
    .filter((part) => part.length > 0);
}

/** What a server that does not speak TLS writes, at once or once the client has spoken. */
export function rawGarbage(seed: number): { readonly octets: Buffer; readonly waits: boolean } {
  const rng = seededRng(seed);
  const beginnings = [
    Buffer.alloc(0),
    Buffer.from('HTTP/1.1 200 OK\r\n\r\n'),
    // The header of a TLS handshake record, of an alert, and of a record that is too large.
    Buffer.of(0x16, 0x03, 0x03, 0x00, 0x30),
    Buffer.of(0x15, 0x03, 0x03, 0x00, 0x02, 0x02, rng(256)),
    Buffer.of(0x16, 0x03, 0x03, 0xff, 0xff),
  ];
  return { octets: Buffer.concat([pick(rng, beginnings), noise(rng, rng(500))]), waits: rng(2) === 0 };
}
