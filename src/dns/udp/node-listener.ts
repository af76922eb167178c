import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { PeerAddress } from '../../base/network/address.ts';
import type { UdpChoice, UdpPath } from '../../base/network/transport.ts';
import { type Listener, once, queueShare } from '../shared/listener.ts';
import { DatagramHeaders } from '../shared/proxy-header.ts';
import { listenUdpBatch, loadUdpAddon } from './batch-listener.ts';
import { type Miss, MissQueue, PROVEN, ReplyFinisher, UDP_OCTETS, type UdpOptions } from './replies.ts';

interface EitherUdp {
  readonly listener: Listener;
  readonly path: UdpPath;
}

/** DNS over UDP: by batches where wanted and possible, else with Node's sockets. Both behave alike. */
export async function listenUdpEither(
  options: UdpOptions,
  wanted: UdpChoice,
  addon = wanted === 'auto' ? loadUdpAddon() : null,
): Promise<EitherUdp> {
  if (addon !== null) {
    try {
      return { listener: await listenUdpBatch(options, addon), path: 'batch' };
    } catch (error) {
      // The system calls are missing. Other errors (port in use) would occur with Node's sockets too.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSYS') throw error;
    }
  }
  options.below?.onChange({ at: 1, type: 'refused', reason: 'no_native_code' });
  return { listener: await listenUdp(options), path: 'node' };
}

/** Requested sizes. A receive queue that takes longer than a client waits would hold only dead questions. */
const RECEIVE_BUFFER_OCTETS = 512 * 1024;
const SEND_BUFFER_OCTETS = 4 * 1024 * 1024;
/** Octets of replies waiting for the kernel; beyond this they are dropped, and clients retry. */
const SEND_QUEUE = 1024;

/** DNS over UDP (RFC 1035 §4.2.1) with Node's sockets, one packet at a time. Host `::` serves both families. */
export async function listenUdp(options: UdpOptions): Promise<Listener> {
  const family = isIPv6(options.host) ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    reusePort: options.reusePort,
    // The address is numeric: calling back at once saves a tick per packet.
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
    // Some kernels refuse a size that others reduce; the default works too.
  }
}

class UdpReplies {
  readonly #socket: Socket;
  readonly #options: UdpOptions;
  readonly #finisher: ReplyFinisher;
  readonly #misses: MissQueue<RemoteInfo>;
  readonly #headers: DatagramHeaders | null;
  /** Replies that the kernel's buffer had no room for. */
  #queued = 0;
  #closed = false;
  #out = Buffer.allocUnsafeSlow(UDP_OCTETS);
  /** Views of `#out` by length: a view costs more than a copy, and replies have few lengths. */
  #views: (Uint8Array | undefined)[] = new Array(UDP_OCTETS + 1);

  constructor(socket: Socket, options: UdpOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#finisher = new ReplyFinisher(options);
    this.#headers = options.proxies ? new DatagramHeaders(options.proxies) : null;
    this.#misses = new MissQueue(options, { answer: (miss) => this.#answerMiss(miss) });
  }

  /** Never throws: an uncaught error would end the process. */
  onQuery(query: Buffer, peer: RemoteInfo): void {
    // A reply to port 0 cannot be sent; only forged queries have it.
    if (peer.port === 0 || this.#misses.isFinishing) return;
    try {
      this.#open(query, peer);
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }

  /** Takes the PROXY header off, where one is due. */
  #open(datagram: Buffer, peer: RemoteInfo): void {
    const headers = this.#headers;
    if (headers === null) {
      this.#answer(datagram, peer, peer.address);
      return;
    }
    const octets = headers.read(datagram, datagram.length, peer.address);
    const { client } = headers;
    if (octets < 0) this.#options.observe.malformed('udp');
    else this.#answer(datagram.subarray(octets), peer, typeof client === 'string' ? client : client.slice());
  }

  #answer(query: Buffer, peer: RemoteInfo, client: PeerAddress): void {
    const { handler, clock } = this.#options;
    const { length } = query;
    const octets = handler.hot(query, length, 'udp', this.#out);
    if (octets > 0) {
      this.#misses.hit();
      this.#send(this.#finisher.finish(query, length, client, this.#out, octets, 0), peer);
      return;
    }
    const screened = this.#finisher.screen(query, length, client, this.#out);
    if (screened >= 0) {
      this.#send(screened, peer);
      return;
    }
    if (screened !== PROVEN && handler.isSpent(query, length)) {
      this.#send(this.#finisher.shed(query, length, client, this.#out), peer);
      return;
    }
    const source = queueShare(client);
    const name = this.#misses.nameShare(query, length);
    if (this.#misses.makeRoom(length, source, name))
      this.#misses.push({ query, peer, client, askedAt: clock(), source, name });
  }

  /** Checks the rate again: other queries of this source may have been answered since. */
  #answerMiss(miss: Miss<RemoteInfo>): void {
    const { query, peer, client, source } = miss;
    const { handler, observe } = this.#options;
    const screened = this.#finisher.screen(query, query.length, client, this.#out);
    if (screened >= 0) {
      this.#send(screened, peer);
      return;
    }
    if (this.#misses.isFull(miss)) {
      observe.missDropped();
      return;
    }
    const reply = handler.slow(query, 'udp', screened === PROVEN, source);
    if (reply instanceof Promise) this.#misses.wait(miss, reply, (late) => this.#sendSlow(miss, late));
    else this.#sendSlow(miss, reply);
  }

  #sendSlow({ query, peer, client, askedAt }: Miss<RemoteInfo>, reply: Uint8Array | null): void {
    const { observe, clock } = this.#options;
    if (reply === null) {
      observe.malformed('udp');
      return;
    }
    // Copy before writing: the cache shares the reply.
    this.#out.set(reply);
    const seconds = (clock() - askedAt) / 1000;
    const octets = this.#finisher.finish(query, query.length, client, this.#out, reply.length, seconds);
    this.#send(octets, peer);
  }

  /** Sends `#out[0, octets)`. */
  #send(octets: number, peer: RemoteInfo): void {
    if (octets === 0) return;
    this.#views[octets] ??= this.#out.subarray(0, octets);
    this.#hand(this.#views[octets], peer);
    // If the kernel's buffer was full, the octets still wait in `#out`: leave it and take a new buffer.
    if (this.#queued === 0) return;
    this.#out = Buffer.allocUnsafeSlow(UDP_OCTETS);
    this.#views = new Array(UDP_OCTETS + 1);
  }

  /** No callback: a packet that the kernel refuses (no route, no permission) is lost. */
  #hand(reply: Uint8Array, peer: RemoteInfo): void {
    if (this.#closed) return;
    if (this.#queued >= SEND_QUEUE && this.#socket.getSendQueueCount() >= SEND_QUEUE) return;
    this.#socket.send(reply, peer.port, peer.address);
    this.#queued = this.#socket.getSendQueueCount();
  }

  /** Resolves when no answer is pending, or after `graceMs`. New queries are dropped. */
  async finish(graceMs: number): Promise<void> {
    await this.#misses.finish(graceMs);
    this.#closed = true;
  }
}
