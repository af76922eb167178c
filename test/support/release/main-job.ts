/** What uqrp is for: a record written over REST and read over DNS. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { As, Place } from './place.ts';

const EMAIL = 'you@example.net';
const START_MS = 90_000;
const ANSWER_MS = 20_000;

export interface Service {
  readonly place: Place;
  /** What begins a command, such as `/usr/bin/uqrp`. */
  readonly uqrp: readonly string[];
  /** The command line that serves. */
  readonly serve: readonly string[];
  readonly as: As;
  readonly zone: string;
  readonly ports: { readonly http: number; readonly dns: number };
}

export interface Running {
  /** Writes a record by REST. @returns the name that it is read by */
  write(label: string, text: string): string;
  /** Waits until a question is answered with the text. */
  read(name: string, text: string): Promise<void>;
  /** @returns what the server wrote */
  stop(): Promise<string>;
}

/** Starts the server and waits until it is ready. */
export async function startService({ place, uqrp, serve, as, zone, ports }: Service): Promise<Running> {
  const child = place.start(serve, as);
  let said = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const base = `http://127.0.0.1:${ports.http}`;
  await until(
    START_MS,
    () => `not ready, ${said}`,
    () => {
      assert.equal(child.exitCode, null, said);
      return place.outside(['curl', '-fsS', `${base}/readyz`]).code === 0;
    },
  );
  const done = (...words: readonly string[]): string => {
    const { code, out, errors } = place.run([...uqrp, ...words], as);
    assert.equal(code, 0, `${words.join(' ')}: ${errors}`);
    return out.trim();
  };
  const post = (path: string, body: object, token: string): { id: string; token: string } => {
    const headers = ['-H', `Authorization: Bearer ${token}`, '-H', 'Content-Type: application/json'];
    const data = ['-d', JSON.stringify(body), `${base}/api/v1${path}`];
    const { code, out, errors } = place.outside(['curl', '-sS', '--fail-with-body', ...headers, ...data]);
    assert.equal(code, 0, `${path}: ${out}${errors}`);
    return JSON.parse(out) as { id: string; token: string };
  };
  return {
    write(label, text) {
      if (!done('user', 'list').includes(EMAIL)) done('user', 'create', EMAIL);
      const token = done('user', 'token', EMAIL);
      const namespace = post('/namespaces', { namespace: { name: label } }, token);
      post(
        '/records',
        {
          record: {
            key: `greeting.${label}.v1`,
            data: Buffer.from(text).toString('base64'),
            content_type: 'text/plain',
            encoding: 'plain',
          },
        },
        token,
      );
      const reader = post(`/namespaces/${namespace.id}/query_tokens`, { name: 'reader' }, token);
      return `get.auth-${reader.token}.greeting.${label}.v1.${zone}`;
    },
    async read(name, text) {
      await until(
        ANSWER_MS,
        () => name,
        () => {
          const asked = ['dig', '@127.0.0.1', '-p', `${ports.dns}`, '+short', 'TXT', name];
          return [asked, [...asked, '+tcp']].every((line) => place.outside(line).out.includes(`d=${text}"`));
        },
      );
    },
    async stop() {
      child.kill('SIGTERM');
      const [code] = await ended;
      assert.equal(code, 0, said);
      assert.match(said, /"server\.stopped"/);
      return said;
    },
  };
}

async function until(limitMs: number, what: () => string, holds: () => boolean): Promise<void> {
  const end = Date.now() + limitMs;
  while (!holds()) {
    assert.ok(Date.now() < end, `${what()}: not within ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
