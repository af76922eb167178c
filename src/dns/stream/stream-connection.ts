import type { Socket } from 'node:net';
import { backgroundTimers, type Timers } from '../../base/lifecycle/timers.ts';
import type { Transport } from '../../base/network/transport.ts';
import type { ReplyDecorator } from '../shared/edns.ts';
import { MISSES_A_TURN } from '../shared/handler.ts';
import { headerRcode, type ListenOptions, queueShare } from '../shared/listener.ts';
import type { QueryMeter } from '../shared/rate-limit.ts';
import type { StreamTurns, Turn } from '../shared/turns.ts';
import { copyOfReplies, endReply, FrameSplitter, LONGEST, replyAt, WRITE_BUFFER_OCTETS } from './framing.ts';

/** Queries answered in one tick, `MISSES_A_TURN` of them past the packet cache, and chunks gathered for it, so that one busy peer does not delay the others. */
const QUERIES_A_TURN = 128;
/** Octets gathered for one tick: one read. More would be memory that the peer fills, as long as it does not read. */
const OCTETS_A_TURN = 65_536;
/** Milliseconds to wait for the peer's FIN: closing at once would reset unread replies. */
const LINGER_MS = 500;

export interface ConnectionContext extends Pick<ListenOptions, 'handler' | 'clock' | 'observe' | 'onFault'> {
  readonly transport: Transport;
  readonly decorator: ReplyDecorator;
  readonly meter?: ((address: string) => QueryMeter) | null;
  /** Calls back when the wait of a peer over its rate ends. */
  readonly timers?: Timers | undefined;
  /** Of the connections of this listener. */
  readonly turns: StreamTurns;
  /** Reading pauses above this many queries in flight. */
  readonly pipeline: number;
}

/** One connection (RFC 7766). Replies leave in any order. Reading stops for too many queries, unread replies or rate. */
export class StreamConnection {
  /** Time of the last query or reply, or of the first octet of a message. */
  activeAt: number;
  /** Time of the last whole query or reply. */
  #finishedAt: number;
  /** Since when the write buffer is full, or null. */
  stalledAt: number | null = null;
  inFlight = 0;
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #splitter = new FrameSplitter();
  readonly #address: string;
  readonly #meter: QueryMeter | null;
  /** A query over the rate, and the function that cancels its wait. */
  #held: Uint8Array | null = null;
  #waking: (() => void) | null = null;
  #peerEnded = false;
  #draining = false;
  #hungUp = false;
  #tickScheduled = false;
  /** Queries answered past the packet cache in this tick. */
  #misses = 0;
  readonly #turn: Turn = () => (this.#tickScheduled ? this.#tick() : 0);

  /** @param address of the client: limits and cookies count it */
  constructor(socket: Socket, address: string, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.activeAt = this.#finishedAt = context.clock();
    this.#address = address;
    this.#meter = context.meter?.(this.#address) ?? null;
    socket.setNoDelay(true);
    // 'close' follows, and does the accounting.
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#waking?.());
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('drain', () => this.#onDrain());
    socket.on('end', () => {
      this.#peerEnded = true;
      this.#settle();
    });
  }

  /** Time of the last whole query or reply; null while the server is at work. A message that does not end is no work. */
  get idleSince(): number | null {
    return this.inFlight > 0 || this.#tickScheduled ? null : this.#finishedAt;
  }

  /** Whether the peer has been silent, or has taken no replies, for too long. One that waits for its turn is neither. Milliseconds. */
  isOverdue(now: number, idleMs: number, drainMs: number): boolean {
    if (this.stalledAt !== null && now - this.stalledAt >= drainMs) return true;
    return this.inFlight === 0 && !this.#tickScheduled && now - this.activeAt >= idleMs;
  }

  /** Stops reading, answers the queries received, closes. */
  drain(): void {
    this.#draining = true;
    this.#settle();
  }

  /** Ends an overdue connection: with a FIN, and over TLS the alert before it (RFC 8446 §6.1); at once where its peer takes nothing. */
  expire(): void {
    if (this.stalledAt !== null || this.#hungUp) this.#socket.destroy();
    else this.drain();
  }

  #onData(chunk: Uint8Array): void {
    if (this.#draining || this.#hungUp) return;
    if (!this.#splitter.pending) this.activeAt = this.#context.clock();
    this.#splitter.push(chunk);
    // Each TLS record of a read is an event of its own: one tick answers them all. It also begins to read again.
    const { chunks, octets } = this.#splitter;
    if (chunks >= QUERIES_A_TURN || octets >= OCTETS_A_TURN) this.#socket.pause();
    this.#scheduleTick();
  }

  #scheduleTick(): void {
    this.#tickScheduled = true;
    this.#context.turns.add(this.#turn);
  }

  #onDrain(): void {
    this.stalledAt = null;
    this.#scheduleTick();
  }

  get #paused(): boolean {
    return this.stalledAt !== null || this.#waking !== null || this.inFlight >= this.#context.pipeline;
  }

  /** Answers the messages received, and writes all ready replies together. @returns queries answered past the packet cache */
  #tick(): number {
    this.#tickScheduled = false;
    if (this.#socket.destroyed) return 0;
    let octets = 0;
    let left = QUERIES_A_TURN;
    this.#misses = 0;
    while (!this.#paused && left > 0 && this.#misses < MISSES_A_TURN && octets < WRITE_BUFFER_OCTETS) {
      const query = this.#next();
      if (query === null) break;
      left--;
      octets += this.#answer(query, octets);
    }
    if (octets > 0) this.#write(octets);
    this.#steer(left === 0 || this.#misses >= MISSES_A_TURN || octets >= WRITE_BUFFER_OCTETS);
    return this.#misses;
  }

  /** The next query. A query over the rate is kept, and reading stops until the period ends. */
  #next(): Uint8Array | null {
    const query = this.#held ?? this.#splitter.next();
    this.#held = null;
    const waitMs = query === null || this.#meter === null ? 0 : this.#meter();
    if (waitMs === 0) return query;
    this.#held = query;
    // The server causes this wait: it does not count as idle time.
    this.activeAt = this.#context.clock();
    this.#waking = (this.#context.timers ?? backgroundTimers).after(waitMs, () => {
      this.#waking = null;
      // The 'close' event of a destroyed socket may come later than this.
      if (!this.#socket.destroyed) this.#scheduleTick();
    });
    return null;
  }

  /** Decides the next step: stop, another tick, or more reading. */
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
      this.#scheduleTick();
      return;
    }
    this.#settle();
    this.#socket.resume();
  }

  /** Puts a reply to the reply buffer at `at`. @returns its octets with its length; 0: it comes later, or never */
  #answer(query: Uint8Array, at: number): number {
    const { handler, transport, decorator, clock, observe, onFault } = this.#context;
    const askedAt = clock();
    this.activeAt = this.#finishedAt = askedAt;
    try {
      const out = replyAt(at);
      let octets = handler.hot(query, query.length, transport, out);
      if (octets > 0) {
        if (decorator.read(query)) octets = decorator.finish(this.#address, out, octets);
        observe.reply(transport, octets, headerRcode(out), 0);
        return endReply(at, octets);
      }
      this.#misses++;
      const reply = handler.slow(query, transport, true, queueShare(this.#address));
      if (!(reply instanceof Promise)) return this.#put(query, reply, askedAt, at);
      this.inFlight++;
      reply.then(
        (late) => this.#finish(this.#put(query, late, askedAt, 0)),
        (fault: unknown) => {
          onFault(fault);
          this.#finish(0);
        },
      );
    } catch (fault) {
      onFault(fault);
    }
    return 0;
  }

  #put(query: Uint8Array, reply: Uint8Array | null, askedAt: number, at: number): number {
    const { transport, decorator, clock, observe, onFault } = this.#context;
    if (reply === null) {
      observe.malformed(transport);
      return 0;
    }
    if (reply.length > LONGEST) {
      onFault(new RangeError('reply exceeds the length field'));
      return 0;
    }
    const out = replyAt(at);
    out.set(reply);
    const octets = decorator.read(query) ? decorator.finish(this.#address, out, reply.length) : reply.length;
    observe.reply(transport, octets, headerRcode(out), (clock() - askedAt) / 1000);
    return endReply(at, octets);
  }

  /** @param octets of the reply in the reply buffer, or 0 */
  #finish(octets: number): void {
    const wasPaused = this.#paused;
    this.inFlight--;
    this.activeAt = this.#finishedAt = this.#context.clock();
    if (this.#socket.destroyed) return;
    if (octets > 0) {
      this.#corkTick();
      this.#write(octets);
    }
    if (wasPaused && !this.#paused) this.#scheduleTick();
    else this.#settle();
  }

  /** Replies that become ready in one tick leave in one segment. */
  #corkTick(): void {
    if (this.#socket.writableCorked > 0) return;
    this.#socket.cork();
    process.nextTick(() => this.#socket.uncork());
  }

  /** Writes what the reply buffer holds. */
  #write(octets: number): void {
    if (!this.#socket.write(copyOfReplies(octets))) this.stalledAt ??= this.#context.clock();
  }

  /** Closes once no reply is due: after the peer's FIN (RFC 7766 §6.2.4), or when draining. */
  #settle(): void {
    // While paused or scheduled, whole queries are still waiting.
    const asked = this.#tickScheduled || this.#paused || this.inFlight > 0;
    if (asked || this.#hungUp || !(this.#draining || this.#peerEnded)) return;
    this.#hungUp = true;
    this.#socket.end();
    // Keep reading and discard, so that the peer's FIN is seen.
    this.#socket.resume();
    backgroundTimers.after(LINGER_MS, () => this.#socket.destroySoon());
  }
}
