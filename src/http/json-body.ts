import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { type AppError, invalid, malformed } from '../base/errors.ts';
import { nextTurn, type Timers } from '../base/lifecycle/timers.ts';
import { LIMITS } from '../base/limits.ts';
import type { BodyBudget, HeldBody } from './body-budget.ts';
import { type Excess, membersOf, scanJson } from './json-scan.ts';
import { personOf } from './request.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body's place in the budget of bodies; null: none was read. */
    heldBody: HeldBody | null;
    /** Hex SHA-256 of the body's octets, where the request has an `Idempotency-Key`. */
    bodyDigest: string | null;
  }
}

/** Octets that are scanned in one turn of the event loop: about a millisecond. */
const SLICE = 262_144;
/** Octets from which on a body is a buffer of its own, which is freed as soon as it is parsed. */
const OWN_BUFFER = 65_536;

/** Milliseconds between two looks at what is discarded. */
const DISCARD_MS = 20;

const TOO_LARGE = malformed(413, 'Body is too large');
const NOT_JSON = malformed(400, 'Body is not valid JSON');
const WRONG_LENGTH = malformed(400, 'Body does not have the announced length');
const BROKEN_OFF = malformed(400, 'Request is malformed');

/** A body in a content coding must not be read as JSON. @throws AppError 415 */
export function refuseCoding(request: FastifyRequest): void {
  const coding = request.headers['content-encoding'];
  if (coding === undefined || coding.trim().toLowerCase() === 'identity') return;
  throw malformed(415, 'Content-Encoding must be identity');
}

/** The announced length of a body; null: it comes in chunks. */
export function announcedLength({ headers }: FastifyRequest): number | null {
  const { 'content-length': length } = headers;
  return length === undefined ? null : Number(length);
}

/** The largest body of the route. Fastify makes the object for each look: look once. */
export function bodyLimit({ routeOptions }: FastifyRequest): number {
  return routeOptions.bodyLimit ?? LIMITS.requestBody;
}

interface JsonBodyDeps {
  readonly timers: Timers;
  readonly budget: BodyBudget;
  /** Called when a body whose length was not announced has come. Rejects with AppError 429 */
  readonly charge: (request: FastifyRequest, octets: number) => Promise<void>;
}

/**
 * Reads bodies when there is room for them, and parses those that are within the bounds of `scanJson`: strict UTF-8 and JSON, without
 * repeated names, whose values contradict each other, and without `__proto__`. A body stays in the budget until its answer is sent.
 * @param prefix of the paths whose bodies are read so. `Expect: 100-continue` gets the 100 there when the body is read, elsewhere at once
 */
export function readJsonBodies(
  app: FastifyInstance,
  prefix: string,
  { budget, charge, timers }: JsonBodyDeps,
): void {
  const expecting = new WeakMap<IncomingMessage, ServerResponse>();
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.url?.startsWith(prefix)) expecting.set(request, response);
    else response.writeContinue();
    app.server.emit('request', request, response);
  });
  app.decorateRequest('heldBody', null);
  app.decorateRequest('bodyDigest', null);
  const parse = jsonParser(app);
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const limit = bodyLimit(request);
    const beforeReading = (): void => expecting.get(payload)?.writeContinue();
    const octets = await readBody(request, payload, { budget, limit, beforeReading });
    try {
      if (announcedLength(request) === null) await charge(request, octets.length);
      if (limit > LIMITS.requestBody) await request.heldBody?.turn();
      if (request.headers['idempotency-key'] !== undefined)
        request.bodyDigest = hash('sha256', octets, 'hex');
      const counted = boundedMembers(octets, limit);
      const members = typeof counted === 'number' ? counted : await counted;
      const body = parse(request, octets);
      if (members !== membersOf(body)) throw malformed(400, 'Body has a field twice');
      return body;
    } finally {
      free(octets);
    }
  });
  app.addHook('onRequest', (request, _reply, done) => {
    // `curl -d ''` names the type of a form for it.
    if (announcedLength(request) === 0) delete request.headers['content-type'];
    done();
  });
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const refuse = (): never => {
      throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE();
    };
    // Without a length it may still be empty, but no client asks for a 100 before an empty body.
    if (expecting.has(payload)) refuse();
    await readBody(request, payload, { budget, limit: 0, beforeReading: () => {} }).catch(
      (error: unknown) => {
        if (error === TOO_LARGE) refuse();
        throw error;
      },
    );
  });
  const watch = watchDiscarded(budget, timers);
  app.addHook('onResponse', (request, _reply, done) => {
    if (!request.raw.complete) watch(request.raw);
    done();
  });
  app.addHook('onSend', (request, _reply, _payload, done) => {
    request.heldBody?.leave();
    done();
  });
}

/** @returns a function that returns undefined for an empty body. It throws AppError 400 */
function jsonParser(app: FastifyInstance): (request: FastifyRequest, octets: Buffer) => unknown {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const parse = app.getDefaultJsonParser('error', 'error');
  return (request, octets) => {
    const text = decodeUtf8(utf8, octets);
    if (text === null) throw NOT_JSON;
    if (text === '') return undefined;
    let body: unknown;
    let isJson = false;
    // It calls back at once.
    void parse(request, text, (error, value) => {
      isJson = error === null;
      body = value;
    });
    if (!isJson) throw isPlainJson(text) ? FORBIDDEN_FIELD : NOT_JSON;
    return body;
  };
}

const FORBIDDEN_FIELD = malformed(400, 'Body must not have a field __proto__, or constructor with prototype');

function isPlainJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

interface ReadOptions {
  readonly budget: BodyBudget;
  readonly limit: number;
  readonly beforeReading: () => void;
}

/** @throws AppError 400, 413 or 429 */
async function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  { budget, limit, beforeReading }: ReadOptions,
): Promise<Buffer<ArrayBuffer>> {
  const length = announcedLength(request);
  if (length !== null && length > limit) throw TOO_LARGE;
  let drop = (_error: AppError): void => {};
  const room = budget.enter(personOf(request), length ?? limit, (error) => drop(error));
  const held = room instanceof Promise ? await room : room;
  request.heldBody = held;
  // It may have been closed while the body waited.
  if (payload.destroyed) throw BROKEN_OFF;
  beforeReading();
  const target = length === null ? chunkList(limit) : sizedBuffer(length);
  return new Promise((resolve, reject) => {
    const end = (error: AppError | null): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onClose).off('close', onClose);
      if (error === null) {
        resolve(target.octets());
        return;
      }
      // What still comes is discarded: the client reads its answer when it has sent everything.
      payload.on('error', () => {}).resume();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      held.received(chunk.length);
      if (!target.add(chunk)) end(length === null ? TOO_LARGE : WRONG_LENGTH);
    };
    const onEnd = (): void => end(target.isWhole() ? null : WRONG_LENGTH);
    const onClose = (): void => end(BROKEN_OFF);
    drop = end;
    payload.on('data', onData).on('end', onEnd).on('error', onClose).on('close', onClose).resume();
  });
}

/** Tells the budget of octets that come after a refusal: Node reads and discards them, and has no event for it. */
function watchDiscarded(budget: BodyBudget, timers: Timers): (request: IncomingMessage) => void {
  const read = new Map<IncomingMessage, number>();
  const look = (): void => {
    for (const [request, before] of read) {
      const { bytesRead, destroyed } = request.socket;
      budget.discarded(bytesRead - before);
      if (request.complete || destroyed) read.delete(request);
      else read.set(request, bytesRead);
    }
    if (read.size > 0) timers.after(DISCARD_MS, look);
  };
  return (request) => {
    if (read.size === 0) timers.after(DISCARD_MS, look);
    read.set(request, request.socket.bytesRead);
  };
}

interface BodyTarget {
  /** @returns false, and takes nothing, when it has no room */
  add(chunk: Buffer): boolean;
  isWhole(): boolean;
  octets(): Buffer<ArrayBuffer>;
}

function sizedBuffer(length: number): BodyTarget {
  const octets = length > OWN_BUFFER ? Buffer.allocUnsafeSlow(length) : Buffer.allocUnsafe(length);
  let filled = 0;
  return {
    add(chunk) {
      if (filled + chunk.length > length) return false;
      filled += chunk.copy(octets, filled);
      return true;
    },
    isWhole: () => filled === length,
    octets: () => octets,
  };
}

function chunkList(limit: number): BodyTarget {
  const chunks: Buffer[] = [];
  let filled = 0;
  return {
    add(chunk) {
      if (filled + chunk.length > limit) return false;
      filled += chunk.length;
      chunks.push(chunk);
      return true;
    },
    isWhole: () => true,
    octets: () => Buffer.concat(chunks, filled),
  };
}

/** Scans in slices, with turns of the event loop between them. @returns how many members the text has. @throws AppError 400 or 422 */
function boundedMembers(octets: Buffer, limit: number): number | Promise<number> {
  const depth = limit > LIMITS.requestBody ? LIMITS.bulkDepth : LIMITS.bodyDepth;
  const scan = scanJson(octets, { depth, values: LIMITS.bodyValues });
  const next = (): number | null => {
    const excess = scan.scan(Math.min(octets.length, scan.at + SLICE));
    if (excess !== null) throw excessError(excess, depth);
    return scan.at < octets.length ? null : scan.members;
  };
  const rest = async (): Promise<number> => {
    for (;;) {
      await nextTurn();
      const members = next();
      if (members !== null) return members;
    }
  };
  return next() ?? rest();
}

function excessError(excess: Excess, depth: number): AppError {
  return excess === 'depth'
    ? malformed(400, `Body must have at most ${depth} levels`)
    : invalid(`Body must have at most ${LIMITS.bodyValues} values`);
}

/** Frees the memory of a large buffer now: garbage waits for a collection, which an idle process does not make. */
function free({ buffer, byteLength }: Buffer<ArrayBuffer>): void {
  if (byteLength > OWN_BUFFER && buffer.byteLength === byteLength) buffer.transfer(0);
}

function decodeUtf8(utf8: TextDecoder, bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}
