/** REST without a socket: requests that are answered at once, and streams of events. */
import type { FastifyInstance } from 'fastify';
import type { RestAnswer, RestRequest } from './common.ts';

/** An answer that goes on. */
export interface OpenStream {
  readonly status: number;
  /** The client closes the connection. */
  readonly close: () => void;
  /** It reads nothing for a while. */
  readonly pause: () => void;
  readonly resume: () => void;
}

const asInjected = ({ method, path, headers, body }: RestRequest) => ({
  method,
  url: path,
  headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  ...(body === undefined ? {} : { payload: JSON.stringify(body) }),
});

export async function inject(app: FastifyInstance, request: RestRequest): Promise<RestAnswer> {
  const answer = await app.inject(asInjected(request));
  const type = `${answer.headers['content-type']}`;
  const isJson = type.startsWith('application/json');
  const plain = type === 'application/octet-stream' ? answer.rawPayload : answer.body;
  return {
    status: answer.statusCode,
    headers: answer.headers as RestAnswer['headers'],
    body: isJson && answer.body !== '' ? (JSON.parse(answer.body) as unknown) : plain,
  };
}

/** @param onText what comes, and null at the end */
export async function injectStream(
  app: FastifyInstance,
  request: RestRequest,
  onText: (text: string | null) => void,
): Promise<OpenStream> {
  const answer = await app.inject({ ...asInjected(request), payloadAsStream: true });
  const stream = answer.stream();
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => onText(text));
  // The server has cut it off, or the client has closed it.
  stream.on('error', () => {});
  stream.once('close', () => onText(null));
  return {
    status: answer.statusCode,
    close: () => void answer.raw.res.destroy(),
    pause: () => void stream.pause(),
    resume: () => void stream.resume(),
  };
}
