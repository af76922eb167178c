import type { Socket } from 'node:net';
import type { Transport } from '../../../core/transport.ts';
import { backgroundTimers, type Timers } from '../../../lifecycle/timers.ts';
import type { ReplyDecorator } from '../edns/decorator.ts';
import type { QueryMeter } from '../rate-limit/rate-limit.ts';
import { headerRcode, type ListenOptions } from '../shared/listener.ts';
import { queueShare } from '../shared/queue-share.ts';
import { FrameSplitter, frame } from './framing.ts';

/** Reading pauses while a socket holds this much that its peer has not taken. Also the socket's high-water mark. */
export const WRITE_BUFFER_OCTETS = 65_536;
/** Queries answered in one turn; the rest wait for the next, so that one busy peer does not hold up the others. */
const QUERIES_A_TURN = 128;
/** A hung-up connection waits so long for its peer to do the same: closing at once would reset unread replies away. */
const LINGER_MS = 500;
const LONGEST = 0xffff;

/** Where a hot reply is built, and one that gets options. One suffices: it is copied into its frame before the next query is looked at. */
const scratch = Buffer.allocUnsafeSlow(LONGEST);

export interface ConnectionContext extends Pick<ListenOptions, 'handler' | 'clock' | 'observe' | 'onFault'> {
  readonly transport: Transport;
  readonly decorator: ReplyDecorator;
  readonly meter?: ((address: string) => QueryMeter) | null;
  /** What a peer over its rate waits by. */
  readonly timers?: Timers;
  /** Queries in flight above which reading pauses. */
  readonly pipeline: number;
}

/**
 * One DNS conversation over a stream (RFC 7766): queries are answered as their answers come, in any order, and reading
 * stops while the peer has too many in flight, does not take its replies, or asks faster than it may.
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
  /** As it was when the connection came: a socket that is gone has none. */
  readonly #address: string;
  readonly #meter: QueryMeter | null;
  /** A query that came too soon, and what cancels its waiting. */
  #held: Uint8Array | null = null;
  #waking: (() => void) | null = null;
  #peerEnded = false;
  #draining = false;
  #hungUp = false;
  #turnScheduled = false;

  constructor(socket: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.activeAt = context.clock();
    this.#address = socket.remoteAddress ?? '';
    this.#meter = context.meter?.(this.#address) ?? null;
    socket.setNoDelay(true);
    // Resets and time-outs of a peer are its own affair; 'close' follows and does the accounting.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#waking?.());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('drain', () => this.#onDrain());
    socket.on('end', () => {
      this.#peerEnded = true;
      this.#settle();
    });
  }

  /** Nothing is owed to the peer and it is not in the middle of a message. */
  get idle(): boolean {
    return this.inFlight === 0 && this.#waking === null && !this.#splitter.pending;
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
    return this.stalledAt !== null || this.#waking !== null || this.inFlight >= this.#context.pipeline;
  }

  /** Answers the messages at hand, and writes everything that was ready at once together. */
  #turn(): void {
    this.#turnScheduled = false;
    const ready: Buffer[] = [];
    let octets = 0;
    let left = QUERIES_A_TURN;
    while (!this.#paused && left > 0 && octets < WRITE_BUFFER_OCTETS) {
      const query = this.#next();
      if (query === null) break;
      left--;
      const reply = this.#answer(query);
      if (reply === null) continue;
      ready.push(reply);
      octets += reply.length;
    }
    if (ready.length > 0) this.#write(ready.length === 1 ? ready[0]! : Buffer.concat(ready, octets));
    this.#steer(left === 0 || octets >= WRITE_BUFFER_OCTETS);
  }

  /** The next query, unless the peer has to wait: then it is kept, and reading stops until the window of its rate turns. */
  #next(): Uint8Array | null {
    const query = this.#held ?? this.#splitter.next();
    this.#held = null;
    const waitMs = query === null || this.#meter === null ? 0 : this.#meter();
    if (waitMs === 0) return query;
    this.#held = query;
    // It is we who keep the peer waiting: that is no idleness of its own.
    this.activeAt = this.#context.clock();
    this.#waking = (this.#context.timers ?? backgroundTimers).after(waitMs, () => {
      this.#waking = null;
      // The 'close' event of a socket that was destroyed comes later than this may.
      if (!this.#socket.destroyed) this.#turn();
    });
    return null;
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
    const { handler, transport, decorator, clock, observe, onFault } = this.#context;
    const askedAt = clock();
    this.activeAt = askedAt;
    try {
      let octets = handler.hot(query, query.length, transport, scratch);
      if (octets > 0) {
        if (decorator.read(query)) octets = decorator.finish(this.#address, scratch, octets);
        observe.reply(transport, octets, headerRcode(scratch), 0);
        return frame(scratch, octets);
      }
      const reply = handler.slow(query, transport, true, queueShare(this.#address));
      if (!(reply instanceof Promise)) return this.#framed(query, reply, askedAt);
      this.inFlight++;
      reply.then(
        (late) => this.#finish(this.#framed(query, late, askedAt)),
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

  #framed(query: Uint8Array, reply: Uint8Array | null, askedAt: number): Buffer | null {
    const { transport, decorator, clock, observe, onFault } = this.#context;
    if (reply === null) {
      observe.malformed(transport);
      return null;
    }
    if (reply.length > LONGEST) {
      onFault(new RangeError('reply exceeds the length field'));
      return null;
    }
    let [own, octets] = [reply, reply.length];
    if (decorator.read(query)) {
      // A cache may hold the reply too.
      scratch.set(reply);
      own = scratch;
      octets = decorator.finish(this.#address, scratch, octets);
    }
    observe.reply(transport, octets, headerRcode(own), (clock() - askedAt) / 1000);
    return frame(own, octets);
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
