/**
 * Packets for robustness tests: well-formed seeds of many shapes and a mutator, both the same for the same seed,
 * so that a failing run can be repeated from its number.
 */

import { CLASS, EDNS_OPTION, OPCODE, RRTYPE } from '../../../../src/protocol/dns/codes.ts';
import { type EdnsOption, edeOption } from '../../../../src/protocol/dns/message/edns.ts';
import { encodeMessage, type Message, type Rr } from '../../../../src/protocol/dns/message/message.ts';
import { nameFromText } from '../../../../src/protocol/dns/name.ts';
import { concatOctets } from '../../../../src/protocol/dns/octets.ts';
import { aaaaRdata, aRdata, nsRdata, soaRdata } from '../../../../src/protocol/dns/rdata/rdata.ts';
import { cookieOption, mxRdata, paddingOption, srvRdata, txtRdata } from './rdata.ts';

/** A whole number from 0 up to, not including, `bound`. */
export type Rng = (bound: number) => number;

/** A generator that gives the same numbers for the same seed (mulberry32). Not for secrets. */
export function seededRng(seed: number): Rng {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Octets at which parsers turn: ends, label limits, reserved label types, pointers. */
const TURNING_OCTETS = [0, 1, 2, 0x0c, 0x29, 0x3f, 0x40, 0x7f, 0x80, 0xbf, 0xc0, 0xc1, 0xfe, 0xff] as const;
const MAX_PACKET_OCTETS = 0xffff;

type Mutation = (packet: Uint8Array, rng: Rng) => Uint8Array;

const MUTATIONS: readonly Mutation[] = [
  // One bit.
  (packet, rng) => overwrite(packet, rng(packet.length), (octet) => octet ^ (1 << rng(8))),
  // One octet, to anything or to something telling.
  (packet, rng) => overwrite(packet, rng(packet.length), () => rng(256)),
  (packet, rng) => overwrite(packet, rng(packet.length), () => TURNING_OCTETS[rng(TURNING_OCTETS.length)]!),
  // One of the header's counts or flags.
  (packet, rng) => overwrite(packet, Math.min(2 + rng(10), packet.length - 1), () => rng(4)),
  // A pointer, backwards, forwards or at itself.
  (packet, rng) => {
    const at = rng(packet.length);
    const pointed = overwrite(packet, at, () => 0xc0);
    return overwrite(pointed, Math.min(at + 1, packet.length - 1), () => rng(packet.length + 4) & 0xff);
  },
  // Cut short, lengthened, a piece out, a piece twice.
  (packet, rng) => packet.slice(0, rng(packet.length + 1)),
  (packet, rng) => concatOctets([packet, Uint8Array.from({ length: 1 + rng(24) }, () => rng(256))]),
  (packet, rng) => {
    const from = rng(packet.length);
    return concatOctets([packet.subarray(0, from), packet.subarray(from + 1 + rng(12))]);
  },
  (packet, rng) => {
    const from = rng(packet.length);
    const to = Math.min(packet.length, from + 1 + rng(24));
    return concatOctets([packet.subarray(0, to), packet.subarray(from)]);
  },
];

function overwrite(packet: Uint8Array, at: number, change: (octet: number) => number): Uint8Array {
  const changed = packet.slice();
  if (at < changed.length) changed[at] = change(changed[at]!);
  return changed;
}

/** One small change to a packet, or as often up to four, so that many get past the first check; the seed is left alone. */
export function mutate(seedBytes: Uint8Array, rng: Rng): Uint8Array {
  let packet = Uint8Array.from(seedBytes);
  for (let left = rng(2) === 0 ? 1 : 1 + rng(4); left > 0 && packet.length > 0; left--) {
    packet = Uint8Array.from(MUTATIONS[rng(MUTATIONS.length)]!(packet, rng));
  }
  return packet.subarray(0, MAX_PACKET_OCTETS);
}

/** Well-formed messages, most of them queries: names, types, classes, opcodes, options, and some answers. */
export function corpus(): Uint8Array[] {
  return [...plainQueries(), ...ednsQueries(), ...oddQueries(), answer()];
}

const QNAMES = [
  '.',
  'com.',
  'example.com.',
  'wWw.ExAmPlE.cOm.',
  '_dns._tcp.example-9.com.',
  '\\000\\.\\255 .example.com.',
  `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}.`,
  `${'a.'.repeat(127)}`,
] as const;

function name(text: string): Uint8Array {
  const wire = nameFromText(text);
  if (wire === null) throw new RangeError(`not a name: ${text}`);
  return wire;
}

function query(qname: string, qtype: number, changes: Partial<Message> = {}): Message {
  return {
    id: 0x1234,
    qr: false,
    opcode: OPCODE.QUERY,
    aa: false,
    tc: false,
    rd: true,
    ra: false,
    ad: false,
    cd: false,
    rcode: 0,
    question: [{ qname: name(qname), qtype, qclass: CLASS.IN }],
    answer: [],
    authority: [],
    additional: [],
    edns: null,
    ...changes,
  };
}

function rr(owner: string, type: number, rdata: Uint8Array | null): Rr {
  return { owner: name(owner), type, class: CLASS.IN, ttl: 300, rdata: rdata ?? new Uint8Array(0) };
}

function plainQueries(): Uint8Array[] {
  const types = [RRTYPE.A, RRTYPE.AAAA, RRTYPE.TXT, RRTYPE.SOA, RRTYPE.DNSKEY, RRTYPE.HTTPS, RRTYPE.ANY, 666];
  return QNAMES.flatMap((qname) => types.map((qtype) => encodeMessage(query(qname, qtype))));
}

function ednsQueries(): Uint8Array[] {
  const client = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  const optionSets: readonly (readonly EdnsOption[])[] = [
    [],
    [cookieOption(client, null)],
    [cookieOption(client, new Uint8Array(16))],
    [{ code: EDNS_OPTION.NSID, data: new Uint8Array(0) }, paddingOption(31)],
    [{ code: EDNS_OPTION.ECS, data: Uint8Array.of(0, 1, 24, 0, 192, 0, 2) }],
    [
      { code: EDNS_OPTION.KEEPALIVE, data: new Uint8Array(0) },
      edeOption(0, 'x'),
      { code: 65001, data: client },
    ],
  ];
  return optionSets.flatMap((options) =>
    [0, 1232, 65535].map((payload) => {
      const edns = { payload, version: 0, dnssecOk: payload === 1232, options };
      return encodeMessage(query('www.example.com.', RRTYPE.TXT, { edns }));
    }),
  );
}

function oddQueries(): Uint8Array[] {
  const edns = { payload: 1232, version: 0, dnssecOk: false, options: [] };
  const cookie = { ...edns, options: [cookieOption(new Uint8Array(8), null)] };
  const chaos = { qname: name('version.bind.'), qtype: RRTYPE.TXT, qclass: CLASS.CH };
  const soa = rr('example.com.', RRTYPE.SOA, exampleSoa());
  const odd: Message[] = [
    query('example.com.', RRTYPE.A, { question: [chaos] }),
    query('example.com.', RRTYPE.A, { question: [chaos, chaos] }),
    query('example.com.', RRTYPE.A, { question: [], edns: cookie }),
    query('example.com.', RRTYPE.A, { question: [] }),
    query('example.com.', RRTYPE.A, { edns: { ...edns, version: 1 } }),
    query('example.com.', RRTYPE.A, { edns, additional: [rr('key.', RRTYPE.TSIG, new Uint8Array(32))] }),
    query('example.com.', RRTYPE.IXFR, { authority: [soa] }),
    query('example.com.', RRTYPE.SOA, { opcode: OPCODE.NOTIFY, answer: [soa] }),
    query('example.com.', RRTYPE.SOA, { opcode: OPCODE.UPDATE, authority: [soa] }),
    query('example.com.', RRTYPE.A, { opcode: 15, question: [] }),
  ];
  return odd.map(encodeMessage);
}

function exampleSoa(): Uint8Array {
  const [mname, rname] = [name('ns1.example.com.'), name('hostmaster.example.com.')];
  return soaRdata({ mname, rname, serial: 1, refresh: 3600, retry: 600, expire: 86400, minimum: 60 });
}

function answer(): Uint8Array {
  const changes: Partial<Message> = {
    qr: true,
    aa: true,
    answer: [
      rr('www.example.com.', RRTYPE.A, aRdata('192.0.2.1')),
      rr('www.example.com.', RRTYPE.AAAA, aaaaRdata('2001:db8::1')),
      rr('www.example.com.', RRTYPE.TXT, txtRdata('x'.repeat(300))),
      rr('example.com.', RRTYPE.MX, mxRdata(10, name('mail.example.com.'))),
      rr('_dns._udp.example.com.', RRTYPE.SRV, srvRdata(1, 2, 53, name('ns1.example.com.'))),
    ],
    authority: [
      rr('example.com.', RRTYPE.NS, nsRdata(name('ns1.example.com.'))),
      rr('example.com.', RRTYPE.SOA, exampleSoa()),
    ],
    edns: { payload: 1232, version: 0, dnssecOk: true, options: [edeOption(18, 'no')] },
  };
  return encodeMessage(query('www.example.com.', RRTYPE.ANY, changes));
}
