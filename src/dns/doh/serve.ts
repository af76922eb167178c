/** One request over HTTP, from its head to its reply, on whichever port it came. */
import { answerLocally, errorResponse, internalError, throttled } from './answer.ts';
import type { Exchange, HttpReply } from './exchange.ts';
import { type AskingRequest, BODY_FAULTS, readRequest } from './route.ts';

export interface DohService {
  /** Rate limit: 0 lets a request pass, n answers 429 with `Retry-After: n` (seconds). */
  readonly admit?: ((address: string) => number) | null;
  readonly answer: (request: AskingRequest, address: () => string) => HttpReply | Promise<HttpReply>;
  /** Gets a fault of the server, after which the reply is a 500. */
  readonly onFault: (fault: unknown) => void;
}

/** Never throws. */
export function serveExchange(exchange: Exchange, service: DohService): void {
  attempt(exchange, service, () => {
    const wait = service.admit?.(exchange.address()) ?? 0;
    if (wait > 0) return throttled(wait);
    const request = readRequest(exchange.head);
    if (request.kind === 'error' || request.kind === 'preflight') return answerLocally(request);
    if (request.kind !== 'body') return service.answer(request, exchange.address);
    exchange.readBody((body) => {
      if (body !== 'gone') attempt(exchange, service, () => answerBody(body, exchange, service));
    });
    return null;
  });
}

function answerBody(
  body: Uint8Array | keyof typeof BODY_FAULTS,
  exchange: Exchange,
  { answer }: DohService,
): HttpReply | Promise<HttpReply> {
  if (typeof body === 'string') return errorResponse(BODY_FAULTS[body]);
  return answer({ kind: 'wire', message: body }, exchange.address);
}

/** Replies with the result of `make`, or with a 500 if it fails. Null: no reply yet. */
function attempt(
  exchange: Exchange,
  { onFault }: DohService,
  make: () => HttpReply | Promise<HttpReply> | null,
): void {
  const failed = (fault: unknown): void => {
    onFault(fault);
    exchange.respond(internalError());
  };
  try {
    const response = make();
    if (response instanceof Promise) response.then((late) => exchange.respond(late)).catch(failed);
    else if (response !== null) exchange.respond(response);
  } catch (fault) {
    failed(fault);
  }
}
