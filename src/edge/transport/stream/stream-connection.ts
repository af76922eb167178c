import type { Socket } from 'node:net';
import type { Transport } from '../../../core/network/transport.ts';
import { backgroundTimers, type Timers } from '../../../lifecycle/timers.ts';
import type { ReplyDecorator } from '../edns/decorator.ts';
import type { QueryMeter } from '../rate-limit/rate-limit.ts';
import { headerRcode, type ListenOptions } from '../shared/listener.ts';
import { queueShare } from '../shared/queue-share.ts';
import { FrameSplitter, frame } from './framing.ts';

/** Reading pauses while this many octets wait for the peer. Also the socket's high-water mark. */
export const WRITE_BUFFER_OCTETS = 65_536;
/** Queries answered in one tick, so that one busy peer does not delay the others. */
const QUERIES_A_TURN = 128;
/** Milliseconds to wait for the peer's FIN: closing at once would reset unread replies. */
const LINGER_MS = 500;
const LONGEST = 0xffff;

/** Buffers of a hot reply and of one with options: copied to its frame before the next query is read. */
const scratch = Buffer.allocUnsafeSlow(LONGEST);

export interface ConnectionContext extends Pick<ListenOptions, 'handler' | 'clock' | 'observe' | 'onFault'> {
  readonly transport: Transport;
  readonly decorator: ReplyDecorator;
  readonly meter?: ((address: string) => QueryMeter) | null;
  /** Calls back when the wait of a peer over its rate ends. */
  readonly timers?: Timers;
  /** Reading pauses above this many queries in flight. */
  readonly pipeline: number;
}

/** One connection (RFC 7766). Replies leave in any order. Reading stops for too many queries, unread replies or rate. */
export class StreamConnection {
  /** Time of the last query or reply, or of the first octet of a message. */
  activeAt: number;
  /** Since when the write buffer is full, or null. */
  stalledAt: number | null = null;
  inFlight = 0;
  readonly #socket: Socket;
  readonly #context: ConnectionContext;
  readonly #splitter = new FrameSplitter();
  /** Saved at the start: a closed socket has no address. */
  readonly #address: string;
  readonly #meter: QueryMeter | null;
  /** A query over the rate, and the function that cancels its wait. */
  #held: Uint8Array | null = null;
  #waking: (() => void) | null = null;
  #peerEnded = false;
  #draining = false;
  #hungUp = false;
  #tickScheduled = false;

  constructor(socket: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
    this.activeAt = context.clock();
    this.#address = socket.remoteAddress ?? '';
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

  /** No reply is due and no message is incomplete. */
  get idle(): boolean {
    return this.inFlight === 0 && this.#waking === null && !this.#splitter.pending;
  }

  /** Stops reading, answers the queries received, closes. */
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
    if (!this.#tickScheduled) this.#tick();
  }

  #onDrain(): void {
    this.stalledAt = null;
    this.#tick();
  }

  get #paused(): boolean {
    return this.stalledAt !== null || this.#waking !== null || this.inFlight >= this.#context.pipeline;
  }

  /** Answers the messages received, and writes all ready replies together. */
  #tick(): void {
    this.#tickScheduled = false;
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
      if (!this.#socket.destroyed) this.#tick();
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
      this.#tickScheduled = true;
      setImmediate(() => this.#tick());
      return;
    }
    this.#settle();
    this.#socket.resume();
  }

  /** A framed reply, or null: later, or never. */
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
      // Copy: the cache shares the reply.
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
    if (wasPaused && !this.#paused && !this.#tickScheduled) this.#tick();
    else this.#settle();
  }

  #write(octets: Buffer): void {
    // Replies that become ready in one tick leave in one segment.
    if (this.#socket.writableCorked === 0) {
      this.#socket.cork();
      process.nextTick(() => this.#socket.uncork());
    }
    if (!this.#socket.write(octets)) this.stalledAt ??= this.#context.clock();
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
    setTimeout(() => this.#socket.destroySoon(), LINGER_MS).unref();
  }
}
