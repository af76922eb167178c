/** What both UDP listeners do with a query: rate limit, EDNS options, counts, and the queue of those that the packet cache cannot answer. */

import { FairQueue } from '../../base/lifecycle/fair-queue.ts';
import { Portions } from '../../base/lifecycle/portions.ts';
import { realTimers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { PeerAddress } from '../../base/network/address.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { MAX_NAME_OCTETS } from '../../protocol/dns/name.ts';
import { put16, u16At } from '../../protocol/dns/octets.ts';
import {
  afterQuestion,
  HEADER_OCTETS,
  OPT_AT,
  OPT_OCTETS,
  optOfReply,
  optOfRequest,
  QUESTION_OCTETS,
  TC_BIT,
} from '../../protocol/dns/skim.ts';
import { ReplyDecorator, truncateReply } from '../shared/edns.ts';
import { MISSES_A_TURN, QUEUE_SHARES } from '../shared/handler.ts';
import { headerRcode, type ListenOptions } from '../shared/listener.ts';
import type { BelowOptions } from './below.ts';

/** Decision for an unproven address: send whole, truncate (TC), or drop. */
export type Fate = 'pass' | 'slip' | 'drop';

/** Response rate limiting. Each query counts once: in `screen` if that refuses it, else in `admit`. */
export interface ReplyLimiter {
  /** Called before work on a reply. Counts only if the network is over its limit in a class the reply could have. */
  screen(address: PeerAddress): Fate;
  admit(address: PeerAddress, reply: Uint8Array): Fate;
}

export interface UdpOptions extends ListenOptions {
  readonly limiter?: ReplyLimiter | null;
  /** Maximum queries that wait for a service; further ones are dropped, of one name from half of it on. */
  readonly inFlight?: number;
  /** Null: packets come through the socket alone. */
  readonly below?: BelowOptions | null;
}

/** Octets of a UDP reply before truncation. */
export const UDP_OCTETS = 4096;

/** Results of `screen`: ask the handler; the address is proven or not. */
const UNPROVEN = -1;
export const PROVEN = -2;

export class ReplyFinisher {
  readonly #options: UdpOptions;
  readonly #limiter: ReplyLimiter | null;
  readonly #decorator: ReplyDecorator;

  constructor(options: UdpOptions) {
    this.#options = options;
    this.#limiter = options.limiter ?? null;
    this.#decorator = new ReplyDecorator('udp', { cookies: options.cookies ?? null });
  }

  /**
   * Checks a query before the handler works: a signature costs far more than the reply that the limiter would drop.
   * @returns octets of a reply in `out` to send now; 0: no reply; UNPROVEN or PROVEN: ask the handler
   */
  screen(query: Uint8Array, queryLength: number, address: PeerAddress, out: Uint8Array): number {
    const decorator = this.#decorator;
    const asked = decorator.read(query, queryLength);
    if (asked && decorator.prove(address)) return PROVEN;
    const fate = this.#limiter?.screen(address) ?? 'pass';
    if (fate === 'pass') return UNPROVEN;
    const { observe } = this.#options;
    const length = fate === 'slip' ? writeSlip(query, queryLength, out) : 0;
    observe.limited(length === 0 ? 'dropped' : 'slipped');
    if (length === 0) return 0;
    const octets = asked ? decorator.apply(out, length) : length;
    observe.reply('udp', octets, headerRcode(out), 0);
    return octets;
  }

  /** The truncated answer to a question that `isSpent` is true of. @returns octets in `out` to send, 0: none */
  shed(query: Uint8Array, queryLength: number, address: PeerAddress, out: Uint8Array): number {
    const length = writeSlip(query, queryLength, out);
    out[2] = out[2]! | AA;
    return this.finish(query, queryLength, address, out, length, 0);
  }

  /** Changes `reply[0, length)` in place; it may grow. @param seconds since the query @returns octets to send, 0: none */
  finish(
    query: Uint8Array,
    queryLength: number,
    address: PeerAddress,
    reply: Uint8Array,
    length: number,
    seconds: number,
  ): number {
    const decorator = this.#decorator;
    const { observe } = this.#options;
    const asked = decorator.read(query, queryLength);
    // A valid server cookie exempts: a forger would not have received it.
    const isProven = asked && decorator.prove(address);
    let octets = length;
    if (this.#limiter !== null && !isProven) {
      const fate = this.#limiter.admit(address, reply);
      if (fate === 'drop') {
        observe.limited('dropped');
        return 0;
      }
      if (fate === 'slip') {
        observe.limited('slipped');
        octets = truncateReply(reply, length, optOfReply(reply, length), false);
      }
    }
    if (asked) octets = decorator.apply(reply, octets);
    observe.reply('udp', octets, headerRcode(reply), seconds);
    return octets;
  }
}

/** Header, longest name, type and class. */
const QUESTION_END_MAX = HEADER_OCTETS + MAX_NAME_OCTETS + QUESTION_OCTETS;
const QR = 0x80;
const OPCODE = 0x78;
const AA = 0x04;
const RD = 0x01;
const CD = 0x10;
/** The DO bit is copied (RFC 3225 §3). */
const DNSSEC_OK = 0x8000;

/**
 * The truncated reply to a query that a rate limit refuses: header and question with TC set, and an OPT record without options if the query has one.
 * @param out room for 282 octets; a reply is never longer than its query
 * @returns the octets written; 0: not an ordinary query, no reply
 */
export function writeSlip(query: Uint8Array, length: number, out: Uint8Array): number {
  const end = afterQuestion(query, length);
  // Never answer a response: two servers could then exchange messages without an end.
  if (end < 0 || end > QUESTION_END_MAX || (query[2]! & (QR | OPCODE)) !== 0) return 0;
  for (let i = 0; i < end; i++) out[i] = query[i]!;
  out[2] = QR | TC_BIT | (query[2]! & RD);
  out[3] = query[3]! & CD;
  out.fill(0, 6, HEADER_OCTETS);
  const opt = optOfRequest(query, end, length);
  // Another version needs BADVERS, which the handler writes (RFC 6891 §6.1.3).
  if (opt === 0 || query[opt + OPT_AT.version] !== 0) return end;
  out[11] = 1;
  out.fill(0, end, end + OPT_OCTETS);
  put16(out, end + 1, RRTYPE.OPT);
  put16(out, end + OPT_AT.payload, LIMITS.udpPayload);
  put16(out, end + OPT_AT.flags, u16At(query, opt + OPT_AT.flags) & DNSSEC_OK);
  return end + OPT_OCTETS;
}

const IN_FLIGHT = 10_000;

export interface Miss<P> {
  /** A copy: the next packet overwrites the original. */
  readonly query: Uint8Array;
  /** Where the reply goes. */
  readonly peer: P;
  /** Whose limits count, and whose cookie: the peer, or the client of a proxy. */
  readonly client: PeerAddress;
  /** Milliseconds since the epoch. */
  readonly askedAt: number;
  /** Its share of sources (`queueShare`), and of names (`MissQueue.nameShare`). */
  readonly source: number;
  readonly name: number;
}

interface MissWork<P> {
  /** Answers one miss; what it throws costs that miss alone. */
  readonly answer: (miss: Miss<P>) => void;
  /** Called after the last miss of a tick. */
  readonly tickEnded?: () => void;
  /** Calls its argument in a later tick, after the socket was read. */
  readonly defer?: (tick: () => void) => void;
}

type Settings = Pick<UdpOptions, 'handler' | 'inFlight' | 'observe' | 'onFault'>;

/** From so many waiting misses on, four ticks, names have lines of their own. Below, a miss waits less than it costs to say whose it is. */
export const CROWDED = 4 * MISSES_A_TURN;
/** Misses of a turn in which a whole batch of hits was read. */
const MISSES_BESIDE_HITS = 2;
/** Questions that are read at once (`SLOTS` in native/udp-batch.c). */
const BATCH = 64;
/** What a miss takes of the queue: one place, and more if it is longer. All places together are `udpMissOctets`. */
const PLACE_OCTETS = LIMITS.udpMissOctets / LIMITS.udpMisses;
/** The share of names of all misses while the queue is short, and the share of sources of those: they go in the order in which they came. */
const ANY_NAME = 0;
const ANY_SOURCE = QUEUE_SHARES;

/**
 * Misses and pending answers of services, some for each tick: the socket is read between ticks. Sources take turns, and so do names when many wait, the oldest of each first.
 * In a full queue the heaviest give way to the others, and else new misses are dropped. Full, it holds about 20 ms of work (200 ms of signatures), which clients still wait for.
 * Newest first would starve old queries and answer retries first.
 */
export class MissQueue<P> {
  readonly #settings: Settings;
  readonly #work: MissWork<P>;
  readonly #defer: (tick: () => void) => void;
  readonly #inFlightMax: number;
  readonly #queue: FairQueue<Miss<P>>;
  #inFlight = 0;
  readonly #waitingOf = new Portions<number>();
  #scheduled = false;
  /** Hits since the tick was asked for. */
  #hits = 0;
  #finished: (() => void) | null = null;

  constructor(settings: Settings, work: MissWork<P>) {
    this.#settings = settings;
    this.#work = work;
    this.#defer = work.defer ?? setImmediate;
    this.#inFlightMax = settings.inFlight ?? IN_FLIGHT;
    this.#queue = new FairQueue(LIMITS.udpMisses, () => settings.observe.missDropped());
  }

  /** Counts a question that the packet cache answered. */
  hit(): void {
    this.#hits++;
  }

  /** The share of the name of a query. */
  nameShare(query: Uint8Array, length: number): number {
    return this.#queue.length < CROWDED ? ANY_NAME : this.#settings.handler.nameShare(query, length);
  }

  /** Whether a miss of so many octets fits, where heavier ones may have given way. What gives way or does not fit counts as dropped. */
  makeRoom(octets: number, source: number, name: number): boolean {
    const hasRoom = this.#queue.makeRoom(lineOf(source, name), name, placesOf(octets));
    if (!hasRoom) this.#settings.observe.missDropped();
    return hasRoom;
  }

  /** Call `makeRoom` first. */
  push(miss: Miss<P>): void {
    const { source, name, query } = miss;
    this.#queue.push(miss, lineOf(source, name), name, placesOf(query.length));
    this.#schedule();
  }

  /** Whether an answer to this miss cannot be waited for: as many wait as may, or of its name as many as are left. */
  isFull(miss: Miss<P>): boolean {
    const left = this.#inFlightMax - this.#inFlight;
    return this.#waitingOf.of(this.#nameInFlight(miss)) + 1 > left;
  }

  /** `finish` was called: new misses are dropped. */
  get isFinishing(): boolean {
    return this.#finished !== null;
  }

  /** Calls `deliver` with the reply; a rejection, or what `deliver` throws, is a fault. */
  wait<T>(miss: Miss<P>, reply: Promise<T>, deliver: (reply: T) => void): void {
    const name = this.#nameInFlight(miss);
    this.#inFlight++;
    this.#waitingOf.add(name, 1);
    reply
      .then(deliver)
      .catch(this.#settings.onFault)
      .finally(() => {
        this.#inFlight--;
        this.#waitingOf.add(name, -1);
        this.#settle();
      });
  }

  /** Names are told apart from half of the limit on: what waits before that leaves room for every name. */
  #nameInFlight({ query }: Miss<P>): number {
    return this.#inFlight < this.#inFlightMax / 2
      ? ANY_NAME
      : this.#settings.handler.nameShare(query, query.length);
  }

  /** Resolves when the queue is empty, or after `graceMs`. */
  finish(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = realTimers.after(graceMs, () => this.#finished?.());
      this.#finished = () => {
        cancel();
        resolve();
      };
      this.#settle();
    });
  }

  #settle(): void {
    if (this.#queue.length === 0 && this.#inFlight === 0) this.#finished?.();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#hits = 0;
    this.#defer(() => this.#tick());
  }

  #tick(): void {
    this.#scheduled = false;
    const { answer, tickEnded } = this.#work;
    for (let left = Math.min(missesBeside(this.#hits), this.#queue.length); left > 0; left--) {
      const miss = this.#queue.next();
      if (miss === undefined) break;
      try {
        answer(miss);
      } catch (fault) {
        this.#settings.onFault(fault);
      }
    }
    tickEnded?.();
    if (this.#queue.length > 0) this.#schedule();
    else this.#settle();
  }
}

/**
 * Where hits fill the batches that are read, more of them wait, and misses take a quarter of the time: what came during a pause is answered soon. So
 * there still are some 4,000 misses a second, twice as many as are signed.
 */
function missesBeside(hits: number): number {
  const part = Math.min(1, hits / BATCH);
  return MISSES_A_TURN - Math.floor(part * (MISSES_A_TURN - MISSES_BESIDE_HITS));
}

function lineOf(source: number, name: number): number {
  return name === ANY_NAME ? ANY_SOURCE : source;
}

function placesOf(octets: number): number {
  return Math.max(1, Math.ceil(octets / PLACE_OCTETS));
}
