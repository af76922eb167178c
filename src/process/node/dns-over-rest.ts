/** `/dns-query`, `/resolve` and `/schema` on the port of the REST API, answered by the worker threads of this process. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createPlaces } from '../../base/lifecycle/places.ts';
import { LIMITS } from '../../base/limits.ts';
import { addressKey } from '../../base/network/address.ts';
import { type DohService, errorResponse, serveExchange, throttled } from '../../dns/doh/answer.ts';
import { http1Exchange } from '../../dns/doh/http1.ts';
import { type AskingRequest, type HttpReply, resourceOf } from '../../dns/doh/request.ts';
import { askedOf } from './asks.ts';
import type { WorkerPool } from './pool.ts';

export interface DnsOverRestOptions {
  readonly pool: Pick<WorkerPool, 'ask'>;
  /** As over DoH, and counted together with it; null: without limits. */
  readonly admit: ((address: string) => number) | null;
  readonly onFault: (fault: unknown) => void;
}

/** Octets and milliseconds of a body, as over DoH. */
const BODY = { octets: LIMITS.dohBody, ms: 10_000 };
const RETRY_SECONDS = 1;
const UNAVAILABLE = retryLater('DNS is not available');
const BUSY = retryLater('Too many queries are in work');

/** The same answers, errors and rates as the DoH listener has. */
export function dnsOverRest({ pool, admit, onFault }: DnsOverRestOptions): DohService {
  const places = createPlaces({ all: LIMITS.restQueries, each: LIMITS.restQueriesPerAddress });

  async function ask(request: AskingRequest, address: string): Promise<HttpReply> {
    const source = addressKey(address);
    const reply = places.run(source, () => pool.ask({ asked: askedOf(request), address }));
    if (reply !== null) return (await reply) ?? UNAVAILABLE;
    return places.of(source) >= LIMITS.restQueriesPerAddress ? throttled(RETRY_SECONDS) : BUSY;
  }

  return { admit, answer: (request, address) => ask(request, address()), onFault };
}

/** What answers while no worker listens yet. */
const STARTING: DohService = { answer: () => UNAVAILABLE, onFault() {} };

function retryLater(error: string): HttpReply {
  const reply = errorResponse({ kind: 'error', status: 503, error });
  return { ...reply, headers: { ...reply.headers, 'retry-after': String(RETRY_SECONDS) } };
}

/**
 * Answers a request for one of the three resources.
 * @param address of the client @param service null: it has not started
 * @returns the resource, or null: the request is for none of them, and nothing was sent
 */
export function serveDns(
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
  service: DohService | null,
): string | null {
  const resource = resourceOf(request.url ?? '');
  if (resource === null) return null;
  const exchange = http1Exchange(request, response, {
    body: BODY,
    discarded: LIMITS.discardedBody,
    address,
    closing: () => false,
  });
  serveExchange(exchange, service ?? STARTING);
  return resource;
}
