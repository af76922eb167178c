import type { FastifyInstance } from 'fastify';
import { type OpenApi, type OperationObject, type ResponseObject, resolve } from './document.ts';
import { publishedDocument } from './published.ts';
import { createValidator, step, type Validator } from './validator.ts';

const PREFIX = '/api/v1';

interface Contract {
  readonly document: OpenApi;
  readonly closed: Validator;
}

/** An answer of the API. */
export interface Observed {
  readonly method: string;
  /** As the router has it, such as `/api/v1/records/:id`; undefined: no route. */
  readonly route: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Undefined: not looked at. */
  readonly body: string | undefined;
}

let shared: Promise<Contract> | null = null;

/** The document and its schemas, once per process. */
export function contract(): Promise<Contract> {
  shared ??= publishedDocument().then((document) => ({ document, closed: createValidator(document, true) }));
  return shared;
}

export interface AnswerChecks {
  /** Checks the whole body of an answer that was streamed. */
  streamed(requestId: string, body: string): void;
  /** What is wrong with the answers since the last call. */
  take(): readonly string[];
}

/** Checks every answer of the API against the OpenAPI document. */
export function checkAnswers(app: FastifyInstance, { document, closed }: Contract): AnswerChecks {
  const faults: string[] = [];
  const streams = new Map<string, Observed & { readonly url: string }>();
  const check = (url: string, answer: Observed): void => {
    const fault = faultOfAnswer(document, closed, answer);
    if (fault !== null) faults.push(`${answer.method} ${url}: ${fault}`);
  };
  app.addHook('onSend', async (request, reply, payload) => {
    if (!request.url.startsWith(`${PREFIX}/`)) return payload;
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    const answer: Observed = {
      method: request.method,
      route: request.is404 ? undefined : request.routeOptions.url,
      status: reply.statusCode,
      headers: { ...reply.getHeaders() },
      body: isText ? payload.toString() : payload === undefined || payload === null ? '' : undefined,
    };
    check(request.url, answer);
    if (answer.body === undefined) streams.set(request.id, { ...answer, url: request.url });
    return payload;
  });
  return {
    streamed(requestId, body) {
      const answer = streams.get(requestId);
      if (answer !== undefined) check(answer.url, { ...answer, body });
      streams.delete(requestId);
    },
    take: () => faults.splice(0),
  };
}

/** Null: the answer is as the document says. */
export function faultOfAnswer(document: OpenApi, closed: Validator, answer: Observed): string | null {
  const { method, status, headers, body } = answer;
  if (headers['x-request-id'] === undefined) return 'X-Request-Id is missing';
  const path = (answer.route ?? '').slice(PREFIX.length).replaceAll(/:(\w+)/g, '{$1}');
  const isHead = method === 'HEAD';
  const verb = isHead ? 'get' : method.toLowerCase();
  const operation: OperationObject | undefined = document.paths[path]?.[verb];
  // A path without this operation: only the refusals of the router.
  if (operation === undefined || status === 405) return faultOfRefusal(closed, answer);
  const declared = operation.responses[status];
  if (declared === undefined) return `status ${status} is not declared: ${body}`;
  const response: ResponseObject = resolve(document, declared);
  const media = Object.keys(response.content ?? {});
  if (media.length === 0) return body === '' ? null : 'has a body';
  const { 'content-type': contentType } = headers;
  const type = typeof contentType === 'string' ? contentType.split(';', 1)[0]! : 'none';
  if (!media.includes(type)) return `has the media type ${type}, not ${media.join()}`;
  const absent = ['Location', 'Retry-After', 'WWW-Authenticate', 'Accept-Encoding'].find(
    (name) => response.headers?.[name] !== undefined && headers[name.toLowerCase()] === undefined,
  );
  if (absent !== undefined) return `${absent} is missing`;
  // The framework removes the body of a HEAD afterwards.
  if (type !== 'application/json' || body === undefined || isHead) return null;
  const at = '$ref' in declared ? declared.$ref.slice(1) : `/paths/${step(path)}/${verb}/responses/${status}`;
  return closed.faultOf(`${at}/content/${step(type)}/schema`, JSON.parse(body));
}

const REFUSALS = [400, 401, 404, 405, 429, 500];

function faultOfRefusal(closed: Validator, { method, status, headers, body }: Observed): string | null {
  if (!REFUSALS.includes(status)) return `status ${status} of an undocumented operation`;
  if ((status === 405) !== (headers.allow !== undefined)) return 'Allow is with 405 only';
  return method === 'HEAD' ? null : closed.faultOf('/components/schemas/Error', JSON.parse(body ?? ''));
}
