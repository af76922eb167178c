import { isIPv6 } from 'node:net';
import { getSystemErrorName } from 'node:util';
import { type Listener, once } from './listener.ts';
import { SocketAddress } from './socket-address.ts';
import type { UdpAddon, UdpEndpoint, UdpLayout } from './udp-addon.ts';
import { ReplyFinisher, UDP_OCTETS, type UdpOptions, WaitingQueries } from './udp-replies.ts';

/**
 * DNS over UDP (RFC 1035 §4.2.1), many packets a system call. Does what `listenUdp` does, for less.
 *
 * @throws an error with the system's code, as that would; ENOSYS where the system has no batches
 */
export async function listenUdpBatch(options: UdpOptions, addon: UdpAddon): Promise<Listener> {
  const batches = new UdpBatches(options, addon);
  return {
    transport: 'udp',
    address: batches.address,
    close: once((graceMs) => batches.close(graceMs)),
  };
}

/** One slot of a batch. */
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
  readonly #waiting: WaitingQueries;
  readonly #slots: readonly Slot[];
  readonly #requestLengths: Int32Array;
  readonly #replyLengths: Int32Array;
  /** For replies outside a batch: the kernel has copied them when `send` returns. */
  readonly #late = Buffer.allocUnsafeSlow(UDP_OCTETS);

  constructor(options: UdpOptions, addon: UdpAddon) {
    const { host, port, reusePort } = options;
    const endpoint = addon.open(host, port, reusePort, (count) => this.#onBatch(count));
    if (typeof endpoint === 'number') throw systemError(endpoint);
    const { memory } = endpoint;
    const { layout } = addon;
    this.#options = options;
    this.#addon = addon;
    this.#endpoint = endpoint;
    this.#finisher = new ReplyFinisher(options);
    this.#waiting = new WaitingQueries(options);
    this.#slots = slotsOf(memory, layout, isIPv6(host));
    this.#requestLengths = new Int32Array(memory, layout.requestLengthsAt, layout.slots);
    this.#replyLengths = new Int32Array(memory, layout.replyLengthsAt, layout.slots);
  }

  get address(): Listener['address'] {
    const { host, port } = this.#endpoint;
    return { host, port };
  }

  async close(graceMs: number): Promise<void> {
    await this.#waiting.finish(graceMs);
    this.#addon.close(this.#endpoint);
  }

  /** A packet that goes wrong costs itself alone. */
  #onBatch(count: number): void {
    if (this.#waiting.isFinishing) return;
    for (let i = 0; i < count; i++) {
      try {
        this.#replyLengths[i] = this.#answer(this.#slots[i]!, this.#requestLengths[i]!);
      } catch (fault) {
        this.#options.onFault(fault);
      }
    }
  }

  /** Octets of the reply in the slot, 0: none now. */
  #answer(slot: Slot, length: number): number {
    const { request, reply, peer } = slot;
    // A reply to port 0 cannot be sent; only a forged query comes from there.
    if (length < 0 || !peer.hasPort) return 0;
    const octets = this.#options.handler.hot(request, length, 'udp', reply);
    if (octets === 0) return this.#askSlow(slot, length);
    return this.#finisher.finish(request, length, peer.ip, reply, octets, 0);
  }

  #askSlow({ request, reply, peer }: Slot, length: number): number {
    if (this.#waiting.isFull) return 0;
    const { handler, clock } = this.#options;
    // The slot belongs to the next batch as soon as this one is done, and an answer may take longer.
    const query = Buffer.allocUnsafe(length);
    request.copy(query, 0, 0, length);
    const askedAt = clock();
    const answer = handler.slow(query, 'udp', false);
    if (!(answer instanceof Promise)) return this.#take(query, answer, peer, reply, askedAt);
    const asker = peer.copy();
    this.#waiting.wait(answer, (late) => {
      const octets = this.#take(query, late, asker, this.#late, askedAt);
      if (octets > 0) this.#addon.send(this.#endpoint, asker.octets, this.#late, octets);
    });
    return 0;
  }

  /** Writes a slow answer to `out` and finishes it. Octets to send, or 0. */
  #take(
    query: Uint8Array,
    answer: Uint8Array | null,
    peer: SocketAddress,
    out: Buffer,
    askedAt: number,
  ): number {
    const { observe, clock } = this.#options;
    if (answer === null) {
      observe.malformed('udp');
      return 0;
    }
    // A cache may hold the reply too, and it is about to be written to.
    out.set(answer);
    const seconds = (clock() - askedAt) / 1000;
    return this.#finisher.finish(query, query.length, peer.ip, out, answer.length, seconds);
  }
}

/** Views of the shared memory, made once. */
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

/** As Node's own sockets would throw it. The address stays out of it. */
function systemError(errno: number): Error {
  const code = getSystemErrorName(errno);
  return Object.assign(new Error(`bind ${code}`), { errno, code, syscall: 'bind' });
}
