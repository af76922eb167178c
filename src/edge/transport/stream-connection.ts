import type { Socket } from 'node:net';
import { FrameSplitter, frame } from './framing.ts';
import type { TransportName } from './handler.ts';
import { headerRcode, type ListenOptions } from './listener.ts';

/** Reading pauses while a socket holds this much that its peer has not taken. Also the socket's high-water mark. */
export const WRITE_BUFFER_OCTETS = 65_536;
/** Queries answered in one turn; the rest wait for the next, so that one busy peer does not hold up the others. */
const QUERIES_A_TURN = 128;
/** A hung-up connection waits so long for its peer to do the same: closing at once would reset unread replies away. */
const LINGER_MS = 500;
const LONGEST = 0xffff;

/** Where a hot reply is built. One suffices: it is copied into its frame before the next query is looked at. */
const scratch = Buffer.allocUnsafeSlow(LONGEST);

export interface ConnectionContext extends Pick<ListenOptions, 'handler' | 'clock' | 'observe' | 'onFault'> {
  readonly transport: TransportName;
  /** Queries in flight above which reading pauses. */
  readonly pipeline: number;
}

/**
 * One DNS conversation over a stream (RFC 7766): queries are answered as their answers come, in any order, and reading
 * stops while the peer has too many in flight or does not take its replies.
 */
export class StreamConnection {
  /** When the peer last completed a query, was sent a reply, or began a message after a silence. */
  activeAt: number;
  /** When a full write buffer was noticed that has not emptied since, or null. */
  stalledAt: number | null = null;
  inFlight = 0;
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #splitter = new FrameSplitter();
  #peerEnded = false;
  #draining = false;
  #hungUp = false;
  #turnScheduled = false;

  constructor(socket: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.activeAt = context.clock();
    socket.setNoDelay(true);
    // Resets and time-outs of a peer are its own affair; 'close' follows and does the accounting.
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('drain', () => this.#onDrain());
    socket.on('end', () => {
      this.#peerEnded = true;
      this.#settle();
    });
  }

  /** Nothing is owed to the peer and it is not in the middle of a message. */
  get idle(): boolean {
    return this.inFlight === 0 && !this.#splitter.pending;
  }

  /** Takes no further octets, answers the queries at hand, hangs up. */
  drain(): void {
    this.#draining = true;
    this.#settle();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #onData(chunk: Uint8Array): void {
    if (this.#draining || this.#hungUp) return;
    if (!this.#splitter.pending) this.activeAt = this.#context.clock();
    this.#splitter.push(chunk);
    if (!this.#turnScheduled) this.#turn();
  }

  #onDrain(): void {
    this.stalledAt = null;
    this.#turn();
  }

  get #paused(): boolean {
    return this.stalledAt !== null || this.inFlight >= this.#context.pipeline;
  }

  /** Answers the messages at hand, and writes everything that was ready at once together. */
  #turn(): void {
    this.#turnScheduled = false;
    const ready: Buffer[] = [];
    let octets = 0;
    let budget = QUERIES_A_TURN;
    while (!this.#paused && budget > 0 && octets < WRITE_BUFFER_OCTETS) {
      const query = this.#splitter.next();
      if (query === null) break;
      budget--;
      const reply = this.#answer(query);
      if (reply === null) continue;
      ready.push(reply);
      octets += reply.length;
    }
    if (ready.length > 0) this.#write(ready.length === 1 ? ready[0]! : Buffer.concat(ready, octets));
    this.#steer(budget === 0 || octets >= WRITE_BUFFER_OCTETS);
  }

  /** Decides what comes next: stop, another turn, or more reading. */
  #steer(unfinished: boolean): void {
    if (this.#socket.destroyed) return;
    if (this.#splitter.fault) {
      this.#context.observe.malformed(this.#context.transport);
      this.drain();
      return;
    }
    if (this.#paused) {
      this.#socket.pause();
      return;
    }
    if (unfinished) {
      this.#socket.pause();
      this.#turnScheduled = true;
      setImmediate(() => this.#turn());
      return;
    }
    this.#settle();
    this.#socket.resume();
  }

  /** A framed reply that was at hand, or null: it comes later, or never. */
  #answer(query: Uint8Array): Buffer | null {
    const { handler, transport, clock, observe, onFault } = this.#context;
    const askedAt = clock();
    this.activeAt = askedAt;
    try {
      const octets = handler.hot(query, query.length, transport, scratch);
      if (octets > 0) {
        observe.reply(transport, octets, headerRcode(scratch), 0);
        return frame(scratch, octets);
      }
      const reply = handler.slow(query, transport);
      if (!(reply instanceof Promise)) return this.#framed(reply, askedAt);
      this.inFlight++;
      reply.then(
        (late) => this.#finish(this.#framed(late, askedAt)),
        (fault: unknown) => {
          onFault(fault);
          this.#finish(null);
        },
      );
    } catch (fault) {
      onFault(fault);
    }
    return null;
  }

  #framed(reply: Uint8Array | null, askedAt: number): Buffer | null {
    const { transport, clock, observe, onFault } = this.#context;
    if (reply === null) {
      observe.malformed(transport);
      return null;
    }
    if (reply.length > LONGEST) {
      onFault(new RangeError('reply exceeds the length field'));
      return null;
    }
    observe.reply(transport, reply.length, headerRcode(reply), (clock() - askedAt) / 1000);
    return frame(reply, reply.length);
  }

  #finish(reply: Buffer | null): void {
    const wasPaused = this.#paused;
    this.inFlight--;
    this.activeAt = this.#context.clock();
    if (this.#socket.destroyed) return;
    if (reply !== null) this.#write(reply);
    if (wasPaused && !this.#paused && !this.#turnScheduled) this.#turn();
    else this.#settle();
  }

  #write(octets: Buffer): void {
    // Replies that become ready in the same turn of the event loop leave in one segment.
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    if (!this.#socket.write(octets)) this.stalledAt ??= this.#context.clock();
  }

  /** Hangs up once nothing is owed: after the peer's own FIN (RFC 7766 §6.2.4), or when told to drain. */
  #settle(): void {
    // A pause or a turn to come means that whole queries are still at hand.
    const asked = this.#turnScheduled || this.#paused || this.inFlight > 0;
    if (asked || this.#hungUp || !(this.#draining || this.#peerEnded)) return;
    this.#hungUp = true;
    this.#socket.end();
    // Keeps taking what the peer still sends, unread, so that its FIN is seen.
    this.#socket.resume();
    setTimeout(() => this.#socket.destroySoon(), LINGER_MS).unref();
  }
}
