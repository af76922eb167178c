import type { BodyFault, BodyTaker, HttpReply, RequestHead } from '../request.ts';

/** The connection, as its streams use it. */
export interface StreamOwner {
  readonly address: string;
  reply(stream: Http2Stream, reply: HttpReply): void;
}

const EMPTY = new Uint8Array(0);
const FIRST_OCTETS = 512;
const FORGOTTEN: RequestHead = {
  method: '',
  target: '',
  contentType: undefined,
  contentLength: undefined,
  tooLarge: false,
};

export class Http2Stream {
  readonly id: number;
  /** Released when `onRequest` returns: it may be long, and the answer may take long. */
  head: RequestHead;
  /** HEAD: the reply has no body. */
  readonly bodiless: boolean;
  readonly openedAt: number;
  /** The peer's side is complete. */
  remoteEnded: boolean;
  /** Our reply has begun. */
  answered = false;
  answeredAt = 0;
  closed = false;
  /** Octets that each side may still send. */
  receiveWindow: number;
  sendWindow: number;
  /** Padding received and not yet returned to the stream's window. */
  padding = 0;
  /** Octets of the body not yet returned to the connection's window. */
  kept = 0;
  /** A reply that waits for windows: `reply[sent..)`. */
  waiting: Uint8Array | null = null;
  sent = 0;
  readonly #owner: StreamOwner;
  readonly #announced: number;
  readonly #limit: number;
  #taker: BodyTaker | null = null;
  #body: Uint8Array = EMPTY;
  #received = 0;

  constructor(
    owner: StreamOwner,
    id: number,
    head: RequestHead,
    now: number,
    windows: { readonly ended: boolean; readonly body: number; readonly send: number },
  ) {
    this.#owner = owner;
    this.id = id;
    this.head = head;
    this.bodiless = head.method === 'HEAD';
    this.openedAt = now;
    this.remoteEnded = windows.ended;
    this.#limit = windows.body;
    this.receiveWindow = windows.body + 1;
    this.sendWindow = windows.send;
    this.#announced = head.contentLength === undefined ? -1 : Number(head.contentLength);
  }

  /** The peer's. */
  readonly address = (): string => this.#owner.address;

  forgetHead(): void {
    this.head = FORGOTTEN;
  }

  get reading(): boolean {
    return this.#taker !== null;
  }

  /** Hands over the whole body or its fault, at once if there is none. Call it once. */
  readBody(taker: BodyTaker): void {
    if (this.closed) taker('gone');
    else if (this.remoteEnded) taker(EMPTY);
    else this.#taker = taker;
  }

  respond(reply: HttpReply): void {
    this.#owner.reply(this, reply);
  }

  /** Whether the octets agree with the announced length (RFC 9113 §8.1.1). */
  agrees(octets: number, ended: boolean): boolean {
    if (this.#announced < 0) return true;
    const received = this.#received + octets;
    return ended ? received === this.#announced : received <= this.#announced;
  }

  /** Takes a part of the body, `octets[from..to)`. A body in one part is handed on without a copy. */
  receive(octets: Uint8Array, from: number, to: number): void {
    const length = to - from;
    const before = this.#received;
    this.#received += length;
    if (this.#taker === null) return;
    if (this.#received > this.#limit) this.giveUp('too-large');
    else if (!this.remoteEnded) this.#gather(octets, from, to, before);
    else if (before === 0) this.#finish(octets.subarray(from, to));
    else {
      this.#gather(octets, from, to, before);
      this.#finish(this.#body.subarray(0, this.#received));
    }
  }

  giveUp(why: BodyFault): void {
    this.#finish(why);
  }

  #finish(body: Uint8Array | BodyFault): void {
    const taker = this.#taker;
    this.#taker = null;
    this.#body = EMPTY;
    taker?.(body);
  }

  #gather(octets: Uint8Array, from: number, to: number, before: number): void {
    const needed = before + to - from;
    if (needed > this.#body.length) {
      const grown = new Uint8Array(
        Math.max(FIRST_OCTETS, needed, Math.min(2 * this.#body.length, this.#limit)),
      );
      grown.set(this.#body.subarray(0, before));
      this.#body = grown;
    }
    this.#body.set(octets.subarray(from, to), before);
  }
}
