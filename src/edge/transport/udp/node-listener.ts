import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { type Listener, once } from '../shared/listener.ts';
import { queueShare } from '../shared/queue-share.ts';
import { type Miss, MissQueue } from './miss-queue.ts';
import { PROVEN, ReplyFinisher, UDP_OCTETS, type UdpOptions } from './reply-finisher.ts';

/**
 * Asked of the kernel, which may give less. The receive queue is short, for what waits in it is in front of everybody: a
 * queue longer than a client's patience holds questions that nobody waits for any more. Replies may take more room.
 */
const RECEIVE_BUFFER_OCTETS = 512 * 1024;
const SEND_BUFFER_OCTETS = 4 * 1024 * 1024;
/** Replies waiting for the kernel. UDP may lose packets, and what waits this long is asked again anyway. */
const SEND_QUEUE = 1024;

/** DNS over UDP (RFC 1035 §4.2.1) with Node's own sockets, a packet at a time. An IPv6 host of `::` takes both families. */
export async function listenUdp(options: UdpOptions): Promise<Listener> {
  const family = isIPv6(options.host) ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    reusePort: options.reusePort,
    // The peer's address is one already. Answering in the same call spares every packet a turn through the resolver.
    lookup: (host, _options, done) => done(null, host, family),
  });
  await bound(socket, options);
  sizeBuffers(socket);
  socket.on('error', options.onFault);

  const replies = new UdpReplies(socket, options);
  socket.on('message', (query, peer) => replies.onQuery(query, peer));
  const { address, port } = socket.address();
  return {
    transport: 'udp',
    address: { host: address, port },
    close: once(async (graceMs) => {
      await replies.finish(graceMs);
      await new Promise<void>((resolve) => socket.close(resolve));
    }),
  };
}

function bound(socket: Socket, { host, port }: UdpOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ address: host, port }, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}

function sizeBuffers(socket: Socket): void {
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_OCTETS);
    socket.setSendBufferSize(SEND_BUFFER_OCTETS);
  } catch {
    // Some kernels refuse what others cut down; the default serves too.
  }
}

class UdpReplies {
  readonly #socket: Socket;
  readonly #options: UdpOptions;
  readonly #finisher: ReplyFinisher;
  readonly #misses: MissQueue<RemoteInfo>;
  /** Replies that the kernel had no room for when the last one was sent. */
  #queued = 0;
  #closed = false;
  #out = Buffer.allocUnsafeSlow(UDP_OCTETS);
  /** Views of `#out` by length, made when first needed: replies have few lengths, and a view costs more than a copy. */
  #views: (Uint8Array | undefined)[] = new Array(UDP_OCTETS + 1);

  constructor(socket: Socket, options: UdpOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#finisher = new ReplyFinisher(options);
    this.#misses = new MissQueue(options, { answer: (miss) => this.#answerMiss(miss) });
  }

  /** Nothing thrown leaves here: it would end the process. */
  onQuery(query: Buffer, peer: RemoteInfo): void {
    // A reply to port 0 cannot be sent; only a forged query comes from there.
    if (peer.port === 0 || this.#misses.isFinishing) return;
    try {
      this.#answer(query, peer);
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }

  #answer(query: Buffer, peer: RemoteInfo): void {
    const { handler, clock } = this.#options;
    const { length } = query;
    const octets = handler.hot(query, length, 'udp', this.#out);
    if (octets > 0) {
      this.#send(this.#finisher.finish(query, length, peer.address, this.#out, octets, 0), peer);
      return;
    }
    const screened = this.#finisher.screen(query, length, peer.address, this.#out);
    if (screened >= 0) this.#send(screened, peer);
    else if (this.#misses.hasRoom(length)) this.#misses.push({ query, peer, askedAt: clock() });
  }

  /** Checks the rate of the source again: other queries of it may have been answered since. */
  #answerMiss(miss: Miss<RemoteInfo>): void {
    const { query, peer } = miss;
    const { handler, observe } = this.#options;
    const screened = this.#finisher.screen(query, query.length, peer.address, this.#out);
    if (screened >= 0) {
      this.#send(screened, peer);
      return;
    }
    if (this.#misses.isFull) {
      observe.missDropped();
      return;
    }
    const proven = screened === PROVEN;
    // An unproven question never waits for a signature, so it needs no share.
    const share = proven ? queueShare(peer.address) : 0;
    const reply = handler.slow(query, 'udp', proven, share);
    if (reply instanceof Promise) this.#misses.wait(reply, (late) => this.#sendSlow(miss, late));
    else this.#sendSlow(miss, reply);
  }

  #sendSlow({ query, peer, askedAt }: Miss<RemoteInfo>, reply: Uint8Array | null): void {
    const { observe, clock } = this.#options;
    if (reply === null) {
      observe.malformed('udp');
      return;
    }
    // A cache may hold the reply too, and it is about to be written to.
    this.#out.set(reply);
    const seconds = (clock() - askedAt) / 1000;
    const octets = this.#finisher.finish(query, query.length, peer.address, this.#out, reply.length, seconds);
    this.#send(octets, peer);
  }

  /** Sends `#out[0, octets)`. */
  #send(octets: number, peer: RemoteInfo): void {
    if (octets === 0) return;
    this.#views[octets] ??= this.#out.subarray(0, octets);
    this.#hand(this.#views[octets], peer);
    // Sent means copied into the kernel, except when its buffer was full: then the octets wait in `#out`, which is
    // therefore left to them.
    if (this.#queued === 0) return;
    this.#out = Buffer.allocUnsafeSlow(UDP_OCTETS);
    this.#views = new Array(UDP_OCTETS + 1);
  }

  /** Without a callback: what the kernel will not send (no route, no permission) is lost, as UDP may. */
  #hand(reply: Uint8Array, peer: RemoteInfo): void {
    if (this.#closed) return;
    if (this.#queued >= SEND_QUEUE && this.#socket.getSendQueueCount() >= SEND_QUEUE) return;
    this.#socket.send(reply, peer.port, peer.address);
    this.#queued = this.#socket.getSendQueueCount();
  }

  /** Resolves when nothing is in flight any more, or after `graceMs`. Queries that come in the meantime are dropped. */
  async finish(graceMs: number): Promise<void> {
    await this.#misses.finish(graceMs);
    this.#closed = true;
  }
}
