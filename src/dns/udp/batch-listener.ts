import { createRequire } from 'node:module';
import { isIPv6 } from 'node:net';
import { fileURLToPath } from 'node:url';
import { getSystemErrorName } from 'node:util';
import type { PeerAddress } from '../../base/network/address.ts';
import { XDP_MODES } from '../../base/network/transport.ts';
import { copyOctets } from '../../protocol/dns/octets.ts';
import { type Listener, once, queueShare } from '../shared/listener.ts';
import { DatagramHeaders } from '../shared/proxy-header.ts';
import { type BelowOptions, keepAttached } from './below.ts';
import { type Miss, MissQueue, PROVEN, ReplyFinisher, UDP_OCTETS, type UdpOptions } from './replies.ts';

/** Peers as the kernel writes them: sockaddr_in and sockaddr_in6 of Linux. */

/** Offset of the port in both. */
const PORT_AT = 2;
const IPV4_AT = 4;
const IPV4_OCTETS = 4;
/** After port and flow label. */
const IPV6_AT = 8;
const IPV6_OCTETS = 16;
/** Head of an IPv4-mapped address (RFC 4291 §2.5.5.2). */
const MAPPED_AT = 12;

/** A peer in memory that each packet overwrites, so that reading allocates nothing. */
export class SocketAddress {
  /** Where the reply goes to, and from which address: a slot of the kernel's. */
  readonly octets: Uint8Array;
  readonly #isIpv6: boolean;
  readonly #ipv4: Uint8Array;
  readonly #ipv6: Uint8Array;

  /** @param octets a sockaddr in the first 28 @param isIpv6 family of the socket, and so of every address on it */
  constructor(octets: Uint8Array, isIpv6: boolean) {
    const ipv4At = isIpv6 ? IPV6_AT + MAPPED_AT : IPV4_AT;
    this.octets = octets;
    this.#isIpv6 = isIpv6;
    this.#ipv4 = octets.subarray(ipv4At, ipv4At + IPV4_OCTETS);
    this.#ipv6 = octets.subarray(IPV6_AT, IPV6_AT + IPV6_OCTETS);
  }

  get hasPort(): boolean {
    return (this.octets[PORT_AT]! | this.octets[PORT_AT + 1]!) !== 0;
  }

  /** The IP address: 4 octets (also of a mapped one) or 16. A view, valid until the next packet. */
  get ip(): Uint8Array {
    return this.#isIpv6 && !this.#isMapped() ? this.#ipv6 : this.#ipv4;
  }

  #isMapped(): boolean {
    const address = this.#ipv6;
    if ((address[MAPPED_AT - 2]! & address[MAPPED_AT - 1]!) !== 0xff) return false;
    for (let i = 0; i < MAPPED_AT - 2; i++) if (address[i] !== 0) return false;
    return true;
  }
}

/** DNS over UDP, many packets per system call. @throws system errors as `listenUdp` does; ENOSYS without batches */
export async function listenUdpBatch(options: UdpOptions, addon: UdpAddon): Promise<Listener> {
  const batches = new UdpBatches(options, addon);
  return {
    transport: 'udp',
    address: batches.address,
    close: once((graceMs) => batches.close(graceMs)),
  };
}

interface Slot {
  readonly request: Buffer;
  readonly reply: Buffer;
  readonly peer: SocketAddress;
}

class UdpBatches {
  readonly #options: UdpOptions;
  readonly #addon: UdpAddon;
  readonly #endpoint: UdpEndpoint;
  readonly #finisher: ReplyFinisher;
  /** The peer of a miss is a slot of peers. */
  readonly #misses: MissQueue<Uint8Array>;
  readonly #headers: DatagramHeaders | null;
  readonly #slots: readonly Slot[];
  readonly #requestLengths: Int32Array;
  readonly #replyLengths: Int32Array;
  readonly #below: BelowOptions | null;
  readonly #stopAttaching: () => void;
  /** For replies outside a batch: the kernel has copied them when `send` returns. */
  readonly #late = Buffer.allocUnsafeSlow(UDP_OCTETS);
  /** Slots with replies to misses of this tick. Between two batches they are free. */
  #ready = 0;

  constructor(options: UdpOptions, addon: UdpAddon) {
    const { host, port, reusePort } = options;
    const endpoint = addon.open(host, port, reusePort, (count, isBelow) => this.#onBatch(count, isBelow));
    if (typeof endpoint === 'number') throw systemError(endpoint);
    const { memory } = endpoint;
    const { layout } = addon;
    this.#options = options;
    this.#addon = addon;
    this.#endpoint = endpoint;
    this.#finisher = new ReplyFinisher(options);
    this.#misses = new MissQueue(options, {
      answer: (miss) => this.#answerMiss(miss),
      tickEnded: () => this.#flush(),
    });
    this.#headers = options.proxies ? new DatagramHeaders(options.proxies) : null;
    this.#slots = slotsOf(memory, layout, isIPv6(host));
    this.#requestLengths = new Int32Array(memory, layout.requestLengthsAt, layout.slots);
    this.#replyLengths = new Int32Array(memory, layout.replyLengthsAt, layout.slots);
    this.#below = options.below ?? null;
    this.#stopAttaching = this.#below === null ? () => {} : this.#attach(this.#below);
  }

  get address(): Listener['address'] {
    const { host, port } = this.#endpoint;
    return { host, port };
  }

  #attach(below: BelowOptions): () => void {
    const { queue, mode, loader } = below;
    return keepAttached(below, (name, onState) =>
      this.#addon.attach(this.#endpoint, loader, name, queue, XDP_MODES.indexOf(mode), onState),
    );
  }

  async close(graceMs: number): Promise<void> {
    this.#stopAttaching();
    await this.#misses.finish(graceMs);
    this.#addon.close(this.#endpoint);
  }

  /** A fault costs one packet. Cached replies leave when this returns; misses are answered later. */
  #onBatch(count: number, isBelow: number): void {
    // Uncaught on purpose: the thread ends and is replaced, because this one receives nothing any more.
    if (count < 0) throw new Error('the memory of the UDP endpoint was detached');
    if (this.#misses.isFinishing) return;
    if (isBelow !== 0) this.#below?.onRequests(count);
    for (let i = 0; i < count; i++) {
      try {
        this.#replyLengths[i] = this.#answer(this.#slots[i]!, this.#requestLengths[i]!);
      } catch (fault) {
        this.#options.onFault(fault);
      }
    }
  }

  /** @returns octets of the reply in the slot; 0: none now */
  #answer(slot: Slot, length: number): number {
    const { request, peer } = slot;
    // A reply to port 0 cannot be sent; only forged queries have it.
    if (length < 0 || !peer.hasPort) return 0;
    const headers = this.#headers;
    if (headers === null) return this.#answerTo(peer.ip, slot, length);
    const octets = headers.read(request, length, peer.ip);
    if (octets < 0) {
      this.#options.observe.malformed('udp');
      return 0;
    }
    // In place: the next packet overwrites the slot, and a view of what follows would be an allocation.
    if (octets > 0) request.copyWithin(0, octets, length);
    return this.#answerTo(headers.client, slot, length - octets);
  }

  #answerTo(client: PeerAddress, { request, reply, peer }: Slot, length: number): number {
    const octets = this.#options.handler.hot(request, length, 'udp', reply);
    if (octets > 0) {
      this.#misses.hit();
      return this.#finisher.finish(request, length, client, reply, octets, 0);
    }
    const screened = this.#finisher.screen(request, length, client, reply);
    if (screened >= 0) return screened;
    if (screened !== PROVEN && this.#options.handler.isSpent(request, length)) {
      return this.#finisher.shed(request, length, client, reply);
    }
    const source = queueShare(client);
    const name = this.#misses.nameShare(request, length);
    if (!this.#misses.makeRoom(length, source, name)) return 0;
    const query = Buffer.allocUnsafe(length);
    request.copy(query, 0, 0, length);
    // Copies of so few octets are inside the heap of young objects: a view of one would move its octets to memory of their own.
    const from = copyOctets(peer.octets, 0, peer.octets.length);
    const kept = typeof client === 'string' ? client : copyOctets(client, 0, client.length);
    const askedAt = this.#options.clock();
    this.#misses.push({ query, peer: from, client: kept, askedAt, source, name });
    return 0;
  }

  /** Checks the rate again: other queries of this source may have been answered since. */
  #answerMiss(miss: Miss<Uint8Array>): void {
    const { query, peer, client, source } = miss;
    const { reply } = this.#slots[this.#ready]!;
    const screened = this.#finisher.screen(query, query.length, client, reply);
    if (screened >= 0) {
      this.#keep(screened, peer);
      return;
    }
    if (this.#misses.isFull(miss)) {
      this.#options.observe.missDropped();
      return;
    }
    const answer = this.#options.handler.slow(query, 'udp', screened === PROVEN, source);
    if (!(answer instanceof Promise)) {
      this.#keep(this.#take(miss, answer, reply), peer);
      return;
    }
    this.#misses.wait(miss, answer, (late) => {
      const octets = this.#take(miss, late, this.#late);
      if (octets > 0) this.#addon.send(this.#endpoint, peer, this.#late, octets);
    });
  }

  /** Puts the reply into the next free slot, to leave with the others of this tick. */
  #keep(octets: number, peer: Uint8Array): void {
    if (octets === 0) return;
    this.#slots[this.#ready]!.peer.octets.set(peer);
    this.#replyLengths[this.#ready] = octets;
    this.#ready++;
  }

  #flush(): void {
    if (this.#ready > 0) this.#addon.flush(this.#endpoint, this.#ready);
    this.#ready = 0;
  }

  /** Copies a slow answer to `out` and finishes it. @returns octets to send, or 0 */
  #take({ query, client, askedAt }: Miss<Uint8Array>, answer: Uint8Array | null, out: Buffer): number {
    const { observe, clock } = this.#options;
    if (answer === null) {
      observe.malformed('udp');
      return 0;
    }
    // Copy before writing: the cache shares the reply.
    out.set(answer);
    const seconds = (clock() - askedAt) / 1000;
    return this.#finisher.finish(query, query.length, client, out, answer.length, seconds);
  }
}

function slotsOf(memory: ArrayBuffer, layout: UdpLayout, isIpv6: boolean): readonly Slot[] {
  return Array.from({ length: layout.slots }, (_, i) => {
    const view = (at: number, stride: number, octets: number) => Buffer.from(memory, at + i * stride, octets);
    return {
      request: view(layout.requestsAt, layout.requestStride, layout.requestOctets),
      reply: view(layout.repliesAt, layout.replyStride, layout.replyOctets),
      peer: new SocketAddress(view(layout.peersAt, layout.peerStride, layout.peerStride), isIpv6),
    };
  });
}

/** The same error as Node's sockets, without the address. */
function systemError(errno: number): Error {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`bind ${code}`), { errno, code, syscall: 'bind' });
}

/** Raise with `ABI` in native/udp-batch.c: a binary with another number is not loaded. */
const ABI = 5;

/** Offsets and sizes in octets of the shared memory. Slot i of a part is at `partAt + i * partStride`. */
export interface UdpLayout {
  /** Maximum datagrams in a batch. */
  readonly slots: number;
  readonly requestsAt: number;
  readonly requestOctets: number;
  readonly requestStride: number;
  readonly repliesAt: number;
  readonly replyOctets: number;
  readonly replyStride: number;
  /** One sockaddr per slot, and behind it the address that was asked. */
  readonly peersAt: number;
  readonly peerStride: number;
  /** 32-bit signed; negative: skip this slot. */
  readonly requestLengthsAt: number;
  /** 32-bit signed; 0 at the start of a batch: no reply. */
  readonly replyLengthsAt: number;
}

interface UdpEndpoint {
  readonly memory: ArrayBuffer;
  readonly host: string;
  readonly port: number;
}

/** native/udp-batch.c. */
export interface UdpAddon {
  readonly abi: number;
  readonly layout: UdpLayout;
  /**
   * @param onBatch gets the number of requests, and 1 where they came below the socket, else 0; replies in the same slots leave when it returns. -1:
   *   `memory` was detached, and nothing is received any more
   * @returns an endpoint, or a negative system error number
   */
  open(
    host: string,
    port: number,
    reusePort: boolean,
    onBatch: (count: number, isBelow: number) => void,
  ): UdpEndpoint | number;
  /** Sends the first `count` replies, each to the peer in its slot. Call only between two batches. */
  flush(endpoint: UdpEndpoint, count: number): void;
  /** Sends one reply to an earlier peer; does nothing on a closed endpoint. */
  send(endpoint: UdpEndpoint, peer: Uint8Array, reply: Uint8Array, octets: number): void;
  close(endpoint: UdpEndpoint): void;
  /**
   * Asks the loader for a queue of an interface, whose requests then come below the socket (native/xdp-path.h).
   * @param mode position in XDP_MODES @param onState see `keepAttached`
   * @returns 0, or a negative system error number
   */
  attach(
    endpoint: UdpEndpoint,
    loader: string,
    interfaceName: string,
    queue: number,
    mode: number,
    onState: (state: number) => void,
  ): number;
  /**
   * Gives pages in which the C library holds only free memory back to the kernel, those of all threads (`malloc_trim`). 2 to 7 ms after a start; does
   * nothing with other C libraries than glibc.
   */
  trim(): void;
}

const PREBUILT = fileURLToPath(
  new URL(`../../../native/prebuilt/${process.platform}-${process.arch}/udp-batch.node`, import.meta.url),
);

/** Null where the addon is missing or unusable. Any number of threads may load it. */
export function loadUdpAddon(path = PREBUILT): UdpAddon | null {
  try {
    const addon = createRequire(import.meta.url)(path) as UdpAddon;
    return addon.abi === ABI ? addon : null;
  } catch {
    // No file for this platform, another C library, or loading of native code is off.
    return null;
  }
}
