import type { Socket } from 'node:net';
import type { HeldOctets } from '../../../base/lifecycle/held-octets.ts';
import { every, type Repeating } from '../../../base/lifecycle/loop.ts';
import type { Holder } from '../../../base/lifecycle/places.ts';
import { backgroundTimers } from '../../../base/lifecycle/timers.ts';
import { addressKey, siteKey } from '../../../base/network/address.ts';
import type { Clock } from '../../../base/time.ts';
import { MISSES_A_TURN } from '../../shared/handler.ts';
import type { StreamTurns, Turn } from '../../shared/turns.ts';
import { ERROR, FrameReader, FrameWriter, type Sink } from './frames.ts';
import { GOAWAY_MS, INPUT_OCTETS, OUTPUT_OCTETS, REQUESTS_A_TURN } from './limits.ts';
import { Session } from './session.ts';
import type { Http2StreamOptions } from './stream-table.ts';

export interface Http2Options extends Http2StreamOptions {
  readonly clock: Clock;
  /** A fault of the server: it ends this connection only. */
  readonly onFault: (fault: unknown) => void;
  /** Of the connections of this listener. */
  readonly turns: Pick<StreamTurns, 'add'>;
  /** Queries that this listener has answered past the packet cache, in all. */
  readonly misses: () => number;
  /** Counts replies that peers do not take, of all connections: above its bound a connection ends. */
  readonly held: HeldOctets;
}

/**
 * The server side of an HTTP/2 connection (RFC 9113), without a socket. Frames wait unread for the turn of their connection. Reading pauses while
 * they are many, and while output is not taken.
 */
export class Http2Connection {
  readonly #sink: Sink;
  readonly #options: Http2Options;
  readonly #reader = new FrameReader();
  readonly #writer: FrameWriter;
  readonly #session: Session;
  /** Tells how many octets of replies wait for the peer. */
  readonly #tellHeld: (octets: number) => void;
  /** Times of the last request or reply, and of the last frame begun or completed. */
  #activeAt: number;
  #frameAt: number;
  /** Since when the sink is full, or null. */
  #stalledAt: number | null = null;
  #over = false;
  /** Since when the peer is to take the last frames, or null. */
  #endedAt: number | null = null;
  #inTick = false;
  #paused = false;
  #tickScheduled = false;
  /** The deadlines are checked after the tick that is scheduled. */
  #sweepDue = false;
  #flushScheduled = false;
  #farewell: (() => void) | undefined;
  readonly #turn: Turn = () => {
    const before = this.#options.misses();
    if (this.#tickScheduled) this.#tick();
    return this.#options.misses() - before;
  };

  constructor(sink: Sink, options: Http2Options) {
    this.#sink = sink;
    this.#options = options;
    this.#activeAt = this.#frameAt = options.clock();
    this.#writer = new FrameWriter(sink);
    this.#session = new Session(this.#writer, options, () => this.#replied(), this.#activeAt);
    const { address } = options;
    this.#tellHeld = options.held.holder(siteKey(address) ?? addressKey(address), () => this.abort());
    this.#flush();
  }

  get streams(): number {
    return this.#session.streams.open.size;
  }

  /**
   * Time of the last reply to a whole request, or of the beginning; null while a whole request waits for its reply, or what may be one for its turn.
   * A connection that is over gives way before the others of its network.
   */
  get idleSince(): number | null {
    if (this.#over) return Number.NEGATIVE_INFINITY;
    const { streams } = this.#session;
    const isWaiting = this.#tickScheduled && this.#reader.mayHoldRequest;
    return isWaiting || streams.answering > 0 ? null : streams.finishedAt;
  }

  abort(): void {
    this.closed();
    this.#sink.destroy();
  }

  /** @param chunk never written to again by the caller */
  receive(chunk: Buffer): void {
    if (this.#over) return;
    if (!this.#midway) this.#frameAt = this.#options.clock();
    this.#reader.push(chunk);
    // Each TLS record of a read is an event of its own: one tick reads them all. It also begins to read again.
    if (!this.#paused) this.#scheduleTick();
    if (this.#reader.unread >= INPUT_OCTETS) this.#steer(true);
  }

  /** The sink accepts octets again. */
  drained(): void {
    this.#stalledAt = null;
    // The server paused reading: this time does not count against the peer.
    this.#frameAt = this.#options.clock();
    this.#safely(() => {
      this.#session.streams.now = this.#frameAt;
      this.#settle();
    });
  }

  closed(): void {
    this.#over = true;
    this.#farewell?.();
    this.#session.streams.abandon();
    this.#tellHeld(0);
  }

  /** Serves the open streams, sends GOAWAY in two steps, then closes. */
  drain(): void {
    if (this.#over || this.#farewell !== undefined) return;
    this.#session.leave();
    this.#farewell = backgroundTimers.after(GOAWAY_MS, () => this.#lastCall());
    this.#flush();
  }

  /** Enforces the deadlines, of frames that wait for their turn after it. Call it several times within the shortest of them. */
  sweep(): void {
    if (this.#isLate(this.#endedAt)) this.#sink.destroy();
    this.#sweepDue = this.#tickScheduled;
    if (!this.#sweepDue) this.#safely(() => this.#hold());
  }

  #hold(): void {
    const now = this.#options.clock();
    const { requestMs, idleMs } = this.#options.limits;
    this.#session.streams.now = now;
    if (this.#stalledAt !== null) {
      if (this.#isLate(this.#stalledAt)) this.#sink.destroy();
      return;
    }
    const code = this.#session.streams.sweep();
    const late = this.#midway && now - this.#frameAt >= requestMs;
    const idle = this.streams === 0 && now - this.#activeAt >= idleMs;
    if (code !== ERROR.none || late || idle) this.#end(code);
    else this.#settle();
  }

  /** @param since when the peer is to take what was written, or null */
  #isLate(since: number | null): boolean {
    return since !== null && this.#options.clock() - since >= this.#options.limits.requestMs;
  }

  get #midway(): boolean {
    return this.#reader.midway || this.#session.midway;
  }

  #tick(): void {
    this.#tickScheduled = false;
    this.#safely(() => {
      this.#session.streams.now = this.#options.clock();
      this.#inTick = true;
      const code = this.#read();
      this.#inTick = false;
      if (code !== ERROR.none) this.#end(code);
      else if (this.#sweepDue) this.#hold();
      else this.#settle();
      this.#sweepDue = false;
    });
  }

  #scheduleTick(): void {
    this.#tickScheduled = true;
    this.#options.turns.add(this.#turn);
  }

  /** Handles frames up to the limit of a tick. @returns an error of the connection */
  #read(): number {
    const session = this.#session;
    const { streams } = session;
    const preface = this.#reader.preface();
    if (preface !== true) return preface === null ? ERROR.protocol : ERROR.none;
    const { misses } = this.#options;
    const [enough, enoughMisses] = [streams.requests + REQUESTS_A_TURN, misses() + MISSES_A_TURN];
    const hasRoom = (): boolean => this.#stalledAt === null && this.#writer.queued < OUTPUT_OCTETS;
    while (hasRoom() && streams.requests < enough && misses() < enoughMisses) {
      const whole = this.#reader.next();
      if (whole === null) return ERROR.frameSize;
      if (!whole) break;
      const before = streams.requests;
      const code = session.handle(this.#reader);
      if (code !== ERROR.none) return code;
      if (streams.requests !== before) this.#activeAt = streams.now;
      if (!session.midway) this.#frameAt = streams.now;
    }
    streams.tellWindow();
    return ERROR.none;
  }

  /** A reply is ready, perhaps long after its request. */
  #replied(): void {
    if (this.#over || this.#inTick || this.#flushScheduled) return;
    this.#flushScheduled = true;
    // Replies that become ready in one tick leave together.
    process.nextTick(() => {
      this.#flushScheduled = false;
      this.#safely(() => {
        this.#activeAt = this.#session.streams.now = this.#options.clock();
        this.#session.streams.tellWindow();
        this.#settle();
      });
    });
  }

  /** Sends frames and decides the next step: end, another tick, or more reading. */
  #settle(): void {
    this.#flush();
    const session = this.#session;
    if (session.farewell) this.#lastCall();
    if (session.leaving && this.streams === 0 && this.#farewell === undefined) this.#end(ERROR.none);
    if (this.#over) return;
    const more = this.#stalledAt === null && this.#reader.unread > 0;
    this.#steer(more || this.#stalledAt !== null);
    if (more) this.#scheduleTick();
  }

  #steer(pause: boolean): void {
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.#sink.pause();
    else this.#sink.resume();
  }

  #flush(): void {
    const { sender } = this.#session.streams;
    for (let more = true; more && this.#stalledAt === null; ) {
      more = sender.pump();
      if (!this.#writer.flush()) this.#stalledAt = this.#options.clock();
    }
    // What the socket takes without a stall leaves it without a word.
    this.#tellHeld(sender.held + (this.#stalledAt === null ? 0 : this.#sink.unsent()));
  }

  /** The second GOAWAY. The connection ends with its last stream. */
  #lastCall(): void {
    this.#farewell?.();
    this.#farewell = undefined;
    this.#session.farewell = false;
    if (this.#over) return;
    this.#session.close(ERROR.none);
    this.#settle();
  }

  /** Does nothing after the end. An unexpected exception ends the connection, not the process. */
  #safely(work: () => void): void {
    if (this.#over) return;
    try {
      work();
    } catch (fault) {
      this.#options.onFault(fault);
      this.closed();
      this.#sink.destroy();
    }
  }

  #end(code: number): void {
    if (this.#over) return;
    this.#session.close(code);
    this.#writer.flush();
    this.closed();
    this.#endedAt = this.#options.clock();
    this.#sink.end();
  }
}

/** Milliseconds to wait for the peer's FIN: closing at once would reset unread octets. */
const LINGER_MS = 500;
/** Deadlines are checked this many times within the shortest of them. */
const SWEEPS = 4;

/** The HTTP/2 connections of a listener. */
export class Http2Server {
  readonly #options: Omit<Http2Options, 'address'>;
  readonly #open = new Set<Http2Connection>();
  readonly #sweeper: Repeating;
  #closing = false;

  constructor(options: Omit<Http2Options, 'address'>) {
    const { requestMs, idleMs } = options.limits;
    this.#options = options;
    this.#sweeper = every({
      ms: Math.max(10, Math.min(requestMs, idleMs) / SWEEPS),
      task: () => {
        for (const connection of this.#open) connection.sweep();
      },
      onError: options.onFault,
    });
  }

  /** Serves a socket. @param address of the client @returns what its place is used for */
  serve(socket: Socket, address: string): Holder {
    socket.setNoDelay(true);
    const connection = new Http2Connection(sinkOf(socket), { ...this.#options, address });
    this.#open.add(connection);
    // 'close' follows. Without this listener a reset by the peer would end the process.
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => connection.receive(chunk));
    socket.on('drain', () => connection.drained());
    socket.once('close', () => {
      this.#open.delete(connection);
      connection.closed();
    });
    if (this.#closing) connection.drain();
    return { since: () => connection.idleSince, giveWay: () => connection.abort() };
  }

  /** Closes every connection after its requests in flight are answered. */
  drain(): void {
    this.#closing = true;
    for (const connection of this.#open) connection.drain();
  }

  stop(): void {
    void this.#sweeper.stop();
  }
}

function sinkOf(socket: Socket): Sink {
  return {
    write: (parts) => {
      if (socket.destroyed) return true;
      if (parts.length === 1) return socket.write(parts[0]!);
      socket.cork();
      for (const part of parts) socket.write(part);
      socket.uncork();
      return !socket.writableNeedDrain;
    },
    unsent: () => socket.writableLength,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    end: () => {
      socket.end();
      // Keep reading and discard, so that the peer's FIN is seen.
      socket.resume();
      backgroundTimers.after(LINGER_MS, () => socket.destroySoon());
    },
    destroy: () => void socket.destroy(),
  };
}
