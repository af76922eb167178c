/** Fakes that the tests of this folder share: a handler that answers by the first label, and an observer that counts. */

import type { PacketHandler } from '../../../src/dns/shared/handler.ts';
import type { ListenOptions, TransportObserver } from '../../../src/dns/shared/listener.ts';
import { loadConfig } from '../../../src/ops/config/config.ts';
import { decodeMessage, encodeMessage, type Message } from '../../../src/protocol/dns/message/message.ts';

export const HEADER_OCTETS = 12;

/** Those of a server without settings. */
export const DNS_LIMITS = loadConfig({}).dnsLimits;

/** A query for `label.test TXT IN` with RD. */
export function query(id: number, label: string): Buffer {
  const name = Buffer.from(`\0${label}\x04test\0`, 'latin1');
  name[0] = label.length;
  return Buffer.concat([header(id, 0x0100, 0), name, Buffer.from([0, 16, 0, 1])]);
}

/** A message with its length, as on a stream. */
export function frame(message: Uint8Array, length = message.length): Buffer {
  return Buffer.concat([Buffer.of(length >> 8, length & 0xff), message.subarray(0, length)]);
}

export interface Asked {
  readonly payload?: number;
  readonly dnssecOk?: boolean;
  readonly version?: number;
  readonly options?: readonly { readonly code: number; readonly data: Uint8Array }[];
}

/** The query of `query` with an OPT record. */
export function ednsQuery(id: number, label: string, asked: Asked = {}): Buffer {
  const bare = decodeMessage(query(id, label))!;
  return Buffer.from(
    encodeMessage({
      ...bare,
      edns: { payload: 1232, version: 0, dnssecOk: false, options: [], ...asked },
    }),
  );
}

/** An option from its code and hexadecimal data. */
export function option(code: number, data = ''): { code: number; data: Uint8Array } {
  return { code, data: new Uint8Array(Buffer.from(data, 'hex')) };
}

/** The options of a message as `code:hex`, in order. */
export function optionsOf(message: Uint8Array): string[] {
  return decodeMessage(message)!.edns!.options.map(
    ({ code, data }) => `${code}:${Buffer.from(data).toString('hex')}`,
  );
}

/** A reply of exactly so many octets, as the product's: one TXT answer, and an OPT record last if the query has one. */
export function sizedReply(request: Uint8Array, octets: number, extra: Partial<Message> = {}): Uint8Array {
  const asked = decodeMessage(request)!;
  const of = (length: number): Uint8Array =>
    encodeMessage({
      ...asked,
      qr: true,
      answer: [
        { owner: asked.question[0]!.qname, type: 16, class: 1, ttl: 60, rdata: new Uint8Array(length) },
      ],
      edns: asked.edns === null ? null : { payload: 1232, version: 0, dnssecOk: false, options: [] },
      ...extra,
    });
  return of(octets - of(0).length);
}

export function header(id: number, flags: number, answers: number): Buffer {
  const octets = Buffer.alloc(HEADER_OCTETS);
  octets.writeUInt16BE(id, 0);
  octets.writeUInt16BE(flags, 2);
  octets.writeUInt16BE(1, 4);
  octets.writeUInt16BE(answers, 6);
  return octets;
}

/** The first label of the question of a query made by `query`, or of its reply. */
export function labelOf(message: Uint8Array): string {
  return Buffer.from(
    message.subarray(HEADER_OCTETS + 1, HEADER_OCTETS + 1 + message[HEADER_OCTETS]!),
  ).toString();
}

export function idOf(message: Uint8Array): number {
  return (message[0]! << 8) | message[1]!;
}

/** The query as its own reply: QR set, an rcode, padded with zeros to `octets`. */
export function echo(request: Uint8Array, rcode = 0, octets = request.length): Buffer {
  const reply = Buffer.alloc(Math.max(octets, request.length));
  reply.set(request);
  reply[2]! |= 0x80;
  reply[3] = rcode;
  return reply;
}

/** A promise and its settling, for answers that come when the test says so. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function makeGate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

export interface FakeHandler extends PacketHandler {
  /** Labels in the order in which they were asked. */
  readonly asked: string[];
  /** The arguments `proven` and `share` of each call of `slow`. */
  readonly proven: boolean[];
  readonly shares: (number | undefined)[];
  /** Answers to labels `wait...` come after it opens. */
  gate: Gate;
}

/**
 * Labels decide: `hot...` from the cache, `hotN` and `sizeN` with a reply of N octets of the product's form, `wait...` when the gate opens,
 * `big...` in 65,535 octets and `huge...` in one more, `fail...` as SERVFAIL, `throw...` and `reject...` against the contract, `mute...` with
 * silence, as anything shorter than a header.
 * All else is echoed.
 */
export function fakeHandler(): FakeHandler {
  const asked: string[] = [];
  const proven: boolean[] = [];
  const shares: (number | undefined)[] = [];
  const cached = new Map<string, Uint8Array>();
  /** The same octets each time, as from a cache: a change to them shows in the next reply. */
  const shared = (request: Uint8Array): Uint8Array => {
    const label = labelOf(request);
    const reply = cached.get(label) ?? sizedReply(request, sizeIn(label));
    cached.set(label, reply);
    return reply;
  };
  const table: Record<string, (request: Uint8Array) => Uint8Array | null | Promise<Uint8Array | null>> = {
    wait: async (request) => {
      await handler.gate.opened;
      return echo(request);
    },
    big: (request) => echo(request, 0, 65_535),
    huge: (request) => echo(request, 0, 65_536),
    fail: (request) => echo(request, 2),
    size: (request) => shared(request),
    mute: () => null,
    throw: () => {
      throw new Error('handler broke its contract');
    },
    reject: () => Promise.reject(new Error('handler broke its contract')),
  };
  const handler: FakeHandler = {
    asked,
    proven,
    shares,
    gate: makeGate(),
    hot(request, length, _transport, out) {
      if (length < HEADER_OCTETS) return 0;
      const label = labelOf(request.subarray(0, length));
      if (!label.startsWith('hot')) return 0;
      asked.push(label);
      const query = request.subarray(0, length);
      const octets = sizeIn(label);
      const reply = octets === 0 ? echo(query) : sizedReply(query, octets);
      out.set(reply);
      return reply.length;
    },
    slow(request, _transport, isProven, share) {
      if (request.length < HEADER_OCTETS) return null;
      const label = labelOf(request);
      asked.push(label);
      proven.push(isProven);
      shares.push(share);
      const kind = Object.keys(table).find((prefix) => label.startsWith(prefix));
      return kind === undefined ? echo(request) : table[kind]!(request);
    },
    nameShare: () => 0,
    isSpent: () => false,
  };
  return handler;
}

/** The number at the end of a label, or 0. */
function sizeIn(label: string): number {
  return Number(/[0-9]{2,}$/.exec(label)?.[0] ?? 0);
}

export interface FakeObserver extends TransportObserver {
  readonly counts: Map<string, number>;
  count(key: string): number;
}

/** Counts by 'transport reply rcode', 'transport opened', 'transport malformed', 'dropped', 'miss dropped' and so on. */
export function fakeObserver(): FakeObserver {
  const counts = new Map<string, number>();
  const bump = (key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
  return {
    counts,
    count: (key) => counts.get(key) ?? 0,
    reply: (transport, _octets, rcode) => bump(`${transport} reply ${rcode}`),
    connection: (transport, what) => bump(`${transport} ${what}`),
    malformed: (transport) => bump(`${transport} malformed`),
    limited: (what) => bump(what),
    missDropped: () => bump('miss dropped'),
  };
}

export interface Setting extends ListenOptions {
  readonly handler: FakeHandler;
  readonly observe: FakeObserver;
  readonly faults: unknown[];
}

/** Options of a listener on a free port of the loopback address. */
export function setting(host = '127.0.0.1'): Setting {
  const faults: unknown[] = [];
  return {
    host,
    port: 0,
    handler: fakeHandler(),
    observe: fakeObserver(),
    clock: Date.now,
    reusePort: false,
    faults,
    onFault: (fault) => faults.push(fault),
  };
}

/** Waits until `holds` does. The test runner's own limit is the only deadline. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2));
}

/** How many answers in a row went to each connection. */
export function runsOf(order: readonly number[]): string {
  const found: [number, number][] = [];
  for (const one of order) {
    const last = found.at(-1);
    if (last?.[0] === one) last[1]++;
    else found.push([one, 1]);
  }
  return found.map(([one, count]) => `${one}x${count}`).join(' ');
}
