/** The other side of a connection, in memory: makes frames by hand, right ones and wrong ones, and reads what comes back. */

import { createHeldOctets, type HeldOctets } from '../../../../../src/base/lifecycle/held-octets.ts';
import { Http2Connection, type Http2Options } from '../../../../../src/dns/doh/http2/connection.ts';
import { ERROR, FRAME, PREFACE } from '../../../../../src/dns/doh/http2/frames.ts';
import { HpackDecoder } from '../../../../../src/dns/doh/http2/hpack-decoder.ts';
import { commonHeaders } from '../../../../../src/dns/doh/http2/hpack-encoder.ts';
import type { HeaderField } from '../../../../../src/dns/doh/http2/hpack-field.ts';
import type { Http2Limits } from '../../../../../src/dns/doh/http2/limits.ts';
import type { Http2Stream } from '../../../../../src/dns/doh/http2/stream.ts';
import type { BodyFault } from '../../../../../src/dns/doh/request.ts';

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export type FieldText = readonly [name: string, value: string];

export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;
export const ACK = 0x1;
export const COMMON = { 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff' };

/** GET of a path. */
export function getOf(path: string, ...more: FieldText[]): FieldText[] {
  return [[':method', 'GET'], [':scheme', 'https'], [':authority', 'localhost'], [':path', path], ...more];
}

export function postOf(...more: FieldText[]): FieldText[] {
  return [[':method', 'POST'], [':scheme', 'https'], [':path', '/echo'], ...more];
}

export function frame(type: number, flags: number, streamId: number, payload: Uint8Array | number[]): Buffer {
  const octets = Buffer.alloc(9 + payload.length);
  octets.writeUIntBE(payload.length, 0, 3);
  octets[3] = type;
  octets[4] = flags;
  octets.writeUInt32BE(streamId >>> 0, 5);
  octets.set(payload, 9);
  return octets;
}

export function u32(value: number): Buffer {
  const octets = Buffer.alloc(4);
  octets.writeUInt32BE(value >>> 0);
  return octets;
}

/** Literals without indexing and without Huffman code (RFC 7541 §6.2.2). */
export function block(fields: readonly FieldText[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const octets = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(0, 0x7f, octets.length), octets]);
}

/** An integer of HPACK (RFC 7541 §5.1) in whose first octet `pattern` is set. */
export function integer(pattern: number, prefix: number, value: number): Buffer {
  if (value < prefix) return Buffer.from([pattern | value]);
  const octets = [pattern | prefix];
  let rest = value - prefix;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) octets.push((rest % 128) | 0x80);
  return Buffer.from([...octets, rest]);
}

export function headers(
  streamId: number,
  fields: readonly FieldText[],
  flags = END_HEADERS | END_STREAM,
): Buffer {
  return frame(FRAME.headers, flags, streamId, block(fields));
}

export function data(streamId: number, octets: Uint8Array | string, flags = END_STREAM): Buffer {
  return frame(FRAME.data, flags, streamId, Buffer.from(octets as string));
}

export function settings(...pairs: (readonly [id: number, value: number])[]): Buffer {
  const payload = pairs.map(([id, value]) => Buffer.concat([Buffer.from([id >> 8, id]), u32(value)]));
  return frame(FRAME.settings, 0, 0, Buffer.concat(payload));
}

export function windowUpdate(streamId: number, by: number): Buffer {
  return frame(FRAME.windowUpdate, 0, streamId, u32(by));
}

export function rst(streamId: number, code: number = ERROR.cancel): Buffer {
  return frame(FRAME.rstStream, 0, streamId, u32(code));
}

export function ping(octets = '12345678', flags = 0): Buffer {
  return frame(FRAME.ping, flags, 0, Buffer.from(octets));
}

/** Frames of a run of octets; what is left over is no frame. */
export function framesOf(octets: Buffer): Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (octets.length - at >= 9) {
    const end = at + 9 + octets.readUIntBE(at, 3);
    if (end > octets.length) break;
    const payload = octets.subarray(at + 9, end);
    frames.push({
      type: octets[at + 3]!,
      flags: octets[at + 4]!,
      streamId: octets.readUInt32BE(at + 5),
      payload,
    });
    at = end;
  }
  return frames;
}

export interface PeerOptions {
  readonly limits?: Partial<Http2Limits>;
  readonly onRequest?: (stream: Http2Stream) => void;
  /** Default: this connection is alone, and its turn begins at once. */
  readonly turns?: Http2Options['turns'];
  /** Default: every answer is from the packet cache. */
  readonly misses?: () => number;
  /** Default: nothing is counted together with other connections. */
  readonly held?: HeldOctets;
  /** The client's. */
  readonly address?: string;
  /** Without the preface and SETTINGS. */
  readonly silent?: boolean;
}

/** What one stream was sent. */
export interface Got {
  readonly status: string | undefined;
  readonly headers: Map<string, string>;
  readonly body: string;
  readonly ended: boolean;
  /** The code of RST_STREAM. */
  readonly reset: number | undefined;
}

/** The turns of a connection that is alone: the first of a turn of the event loop begins at once. */
function turnsOfOne(): Http2Options['turns'] {
  let isRunning = false;
  const turns: Http2Options['turns'] = {
    add(turn) {
      if (isRunning) return void setImmediate(() => turns.add(turn));
      isRunning = true;
      turn();
      isRunning = false;
    },
  };
  return turns;
}

/**
 * By path: `/size/N` is answered with N octets, `/body` with the body of the request or the name of what went wrong with it,
 * `/never` not before `answer` is called, all else with its own path.
 */
export class Peer {
  now = 1_700_000_000_000;
  readonly connection: Http2Connection;
  readonly requests: Http2Stream[] = [];
  readonly heads: Http2Stream['head'][] = [];
  readonly faults: BodyFault[] = [];
  /** What the connection threw. */
  readonly broken: unknown[] = [];
  readonly frames: Frame[] = [];
  /** Octets that arrived, and those not taken while `full`. */
  received = 0;
  full = false;
  /** Octets that were written while `full`. */
  unsent = 0;
  paused = false;
  ended = false;
  destroyed = false;
  readonly #decoder = new HpackDecoder();

  constructor({
    limits,
    onRequest,
    turns = turnsOfOne(),
    misses = () => 0,
    held = createHeldOctets(Number.POSITIVE_INFINITY),
    address = '192.0.2.1',
    silent,
  }: PeerOptions = {}) {
    const options: Http2Options = {
      limits: { streams: 100, body: 65_535, requestMs: 10_000, idleMs: 30_000, ...limits },
      address,
      common: commonHeaders(COMMON),
      clock: () => this.now,
      onFault: (fault) => {
        this.broken.push(fault);
      },
      onRequest: onRequest ?? ((stream) => this.#serve(stream)),
      turns,
      misses,
      held,
    };
    const sink = {
      unsent: () => this.unsent,
      write: (parts: readonly Buffer[]) => {
        const octets = Buffer.concat(parts);
        this.received += octets.length;
        if (this.full) this.unsent += octets.length;
        this.frames.push(...framesOf(octets));
        return !this.full;
      },
      pause: () => {
        this.paused = true;
      },
      resume: () => {
        this.paused = false;
      },
      end: () => {
        this.ended = true;
      },
      destroy: () => {
        this.destroyed = true;
      },
    };
    this.connection = new Http2Connection(sink, options);
    if (silent !== true) this.send(PREFACE, settings());
  }

  send(...octets: Uint8Array[]): this {
    this.connection.receive(Buffer.concat(octets));
    return this;
  }

  /** Lets time pass. */
  wait(ms: number): this {
    this.now += ms;
    this.connection.sweep();
    return this;
  }

  of(type: number): Frame[] {
    return this.frames.filter((one) => one.type === type);
  }

  /** The code of the last GOAWAY. */
  get goaway(): number | undefined {
    return this.of(FRAME.goaway).at(-1)?.payload.readUInt32BE(4);
  }

  resetOf(streamId: number): number | undefined {
    return this.of(FRAME.rstStream)
      .find((one) => one.streamId === streamId)
      ?.payload.readUInt32BE(0);
  }

  /** Everything on streams so far, by id. To be asked for once: header blocks are decoded in order. */
  replies(): Map<number, Got> {
    const replies = new Map<number, Got>();
    for (const { type, flags, streamId, payload } of this.frames) {
      if (type !== FRAME.headers && type !== FRAME.data) continue;
      const before = replies.get(streamId);
      const fields: HeaderField[] = [];
      if (
        type === FRAME.headers &&
        !this.#decoder.decode(payload, 0, payload.length, (f) => void fields.push(f))
      )
        throw new Error('our own header block cannot be read');
      const list = before?.headers ?? new Map(fields.map(({ name, value }) => [name, value]));
      replies.set(streamId, {
        status: list.get(':status'),
        headers: list,
        body: (before?.body ?? '') + (type === FRAME.data ? payload.toString('latin1') : ''),
        ended: (flags & END_STREAM) !== 0,
        reset: this.resetOf(streamId),
      });
    }
    return replies;
  }

  /** The reply to stream 1. */
  get first(): Got | undefined {
    return this.replies().get(1);
  }

  /** Answers all requests without a reply; these replies leave at the end of the tick. */
  async answer(body = 'late'): Promise<void> {
    for (const stream of this.requests) stream.respond({ status: 200, headers: {}, body: Buffer.from(body) });
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }

  /** Waits while the connection has work for further ticks. */
  async ticks(): Promise<void> {
    while (this.paused && !this.full && !this.ended && !this.destroyed) await new Promise(setImmediate);
  }

  #serve(stream: Http2Stream): void {
    this.requests.push(stream);
    this.heads.push(stream.head);
    const { target } = stream.head;
    const respond = (status: number, body: Uint8Array): void => stream.respond({ status, headers: {}, body });
    if (target === '/never') return;
    if (target === '/body' || target === '/echo') {
      stream.readBody((body) => {
        if (typeof body !== 'string') return respond(200, Buffer.copyBytesFrom(body));
        this.faults.push(body);
        return body === 'gone' ? undefined : respond(body === 'too-large' ? 413 : 408, Buffer.from(body));
      });
      return;
    }
    const size = /^\/size\/(\d+)$/.exec(target)?.[1];
    respond(200, size === undefined ? Buffer.from(target, 'latin1') : Buffer.alloc(Number(size), 'x'));
  }
}
