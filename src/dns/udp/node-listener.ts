import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { isEveryAddress, type PeerAddress } from '../../base/network/address.ts';
import type { UdpChoice, UdpPath } from '../../base/network/transport.ts';
import { type Listener, once, queueShare } from '../shared/listener.ts';
import { DatagramHeaders } from '../shared/proxy-header.ts';
import { listenUdpBatch, loadUdpAddon } from './batch-listener.ts';
import { keepLocalSockets, localAddresses } from './local-sockets.ts';
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

/**
 * DNS over UDP (RFC 1035 §4.2.1) with Node's sockets, one packet at a time. Host `::` serves both families.
 * @param addresses of this host, for a host of every address
 */
export async function listenUdp(options: UdpOptions, addresses = localAddresses): Promise<Listener> {
  const { host } = options;
  const isEvery = isEveryAddress(host);
  const replies = new UdpReplies(options);
  async function open(place: Place): Promise<Socket> {
    const socket = await bound(place);
    sizeBuffers(socket);
    socket.on('error', options.onFault);
    const sender = new Sender(socket);
    socket.on('message', (query, peer) => replies.onQuery(query, peer, sender));
    return socket;
  }

  // Beside a socket of every address, those of one address need the port too.
  const reusePort = options.reusePort || isEvery;
  const socket = await open({ host, port: options.port, reusePort });
  const { address, port } = socket.address();
  const closeOthers = isEvery
    ? await keepLocalSockets({
        addresses: () => addresses(host),
        open: (local) => open({ host: local, port, reusePort }),
      })
    : null;
  return {
    transport: 'udp',
    address: { host: address, port },
    close: once(async (graceMs) => {
      await replies.finish(graceMs);
      await closeOthers?.();
      await new Promise<void>((resolve) => socket.close(resolve));
    }),
  };
}

type Place = Pick<UdpOptions, 'host' | 'port' | 'reusePort'>;

function bound({ host, port, reusePort }: Place): Promise<Socket> {
  const family = isIPv6(host) ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    reusePort,
    // The address is numeric: calling back at once saves a tick per packet.
    lookup: (name, _options, done) => done(null, name, family),
  });
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      // It has a descriptor already, and an address that cannot be bound is tried again and again.
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.bind({ address: host, port }, () => {
      socket.off('error', fail);
      resolve(socket);
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

/** One socket, for the replies to what it received. */
class Sender {
  readonly #socket: Socket;
  /** Replies that the kernel's buffer had no room for. */
  #queued = 0;
  #isClosed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('close', () => {
      this.#isClosed = true;
    });
  }

  /** No callback: a packet that the kernel refuses (no route, no permission) is lost. @returns whether the octets may still be needed */
  send(reply: Uint8Array, peer: RemoteInfo): boolean {
    if (this.#isClosed) return false;
    if (this.#queued >= SEND_QUEUE && this.#socket.getSendQueueCount() >= SEND_QUEUE) return true;
    this.#socket.send(reply, peer.port, peer.address);
    this.#queued = this.#socket.getSendQueueCount();
    return this.#queued > 0;
  }
}

/** Where a reply goes. */
interface Asker {
  readonly peer: RemoteInfo;
  readonly sender: Sender;
}

class UdpReplies {
  readonly #options: UdpOptions;
  readonly #finisher: ReplyFinisher;
  readonly #misses: MissQueue<Asker>;
  readonly #headers: DatagramHeaders | null;
  #closed = false;
  #out = Buffer.allocUnsafeSlow(UDP_OCTETS);
  /** Views of `#out` by length: a view costs more than a copy, and replies have few lengths. */
  #views: (Uint8Array | undefined)[] = new Array(UDP_OCTETS + 1);

  constructor(options: UdpOptions) {
    this.#options = options;
    this.#finisher = new ReplyFinisher(options);
    this.#headers = options.proxies ? new DatagramHeaders(options.proxies) : null;
    this.#misses = new MissQueue(options, { answer: (miss) => this.#answerMiss(miss) });
  }

  /** Never throws: an uncaught error would end the process. */
  onQuery(query: Buffer, peer: RemoteInfo, sender: Sender): void {
    // A reply to port 0 cannot be sent; only forged queries have it.
    if (peer.port === 0 || this.#misses.isFinishing) return;
    try {
      this.#open(query, peer, sender);
    } catch (fault) {
      this.#options.onFault(fault);
    }
  }

  /** Takes the PROXY header off, where one is due. */
  #open(datagram: Buffer, peer: RemoteInfo, sender: Sender): void {
    const headers = this.#headers;
    if (headers === null) {
      this.#answer(datagram, peer, sender, peer.address);
      return;
    }
    const octets = headers.read(datagram, datagram.length, peer.address);
    const { client } = headers;
    if (octets < 0) this.#options.observe.malformed('udp');
    else {
      const kept = typeof client === 'string' ? client : client.slice();
      this.#answer(datagram.subarray(octets), peer, sender, kept);
    }
  }

  #answer(query: Buffer, peer: RemoteInfo, sender: Sender, client: PeerAddress): void {
    const { handler, clock } = this.#options;
    const { length } = query;
    const octets = handler.hot(query, length, 'udp', this.#out);
    if (octets > 0) {
      this.#misses.hit();
      this.#send(this.#finisher.finish(query, length, client, this.#out, octets, 0), peer, sender);
      return;
    }
    const screened = this.#finisher.screen(query, length, client, this.#out);
    if (screened >= 0) {
      this.#send(screened, peer, sender);
      return;
    }
    if (screened !== PROVEN && handler.isSpent(query, length)) {
      this.#send(this.#finisher.shed(query, length, client, this.#out), peer, sender);
      return;
    }
    const source = queueShare(client);
    const name = this.#misses.nameShare(query, length);
    if (this.#misses.makeRoom(length, source, name))
      this.#misses.push({ query, peer: { peer, sender }, client, askedAt: clock(), source, name });
  }

  /** Checks the rate again: other queries of this source may have been answered since. */
  #answerMiss(miss: Miss<Asker>): void {
    const { query, peer: asker, client, source } = miss;
    const { handler, observe } = this.#options;
    const screened = this.#finisher.screen(query, query.length, client, this.#out);
    if (screened >= 0) {
      this.#send(screened, asker.peer, asker.sender);
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

  #sendSlow({ query, peer: asker, client, askedAt }: Miss<Asker>, reply: Uint8Array | null): void {
    const { observe, clock } = this.#options;
    if (reply === null) {
      observe.malformed('udp');
      return;
    }
    // Copy before writing: the cache shares the reply.
    this.#out.set(reply);
    const seconds = (clock() - askedAt) / 1000;
    const octets = this.#finisher.finish(query, query.length, client, this.#out, reply.length, seconds);
    this.#send(octets, asker.peer, asker.sender);
  }

  /** Sends `#out[0, octets)`. */
  #send(octets: number, peer: RemoteInfo, sender: Sender): void {
    if (octets === 0 || this.#closed) return;
    this.#views[octets] ??= this.#out.subarray(0, octets);
    // If the kernel's buffer was full, the octets still wait in `#out`: leave it and take a new buffer.
    if (!sender.send(this.#views[octets], peer)) return;
    this.#out = Buffer.allocUnsafeSlow(UDP_OCTETS);
    this.#views = new Array(UDP_OCTETS + 1);
  }

  /** Resolves when no answer is pending, or after `graceMs`. New queries are dropped. */
  async finish(graceMs: number): Promise<void> {
    await this.#misses.finish(graceMs);
    this.#closed = true;
  }
}
