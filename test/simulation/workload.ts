import { setPublicRead } from '../../src/control/namespaces/rules.ts';
import type { RestAnswer, RestRequest } from './common.ts';
import type { SimulatedControl } from './control.ts';
import type { Names } from './edge/names.ts';
import type { Random } from './random.ts';

/** What a customer does over REST, by the seed. Names, keys and tokens are few, so that changes meet. */
export interface Workload {
  /** Sends some requests, each to a control process, and does not wait. */
  write(): void;
  /** More than usual. */
  writeMany(): void;
  readonly names: Names;
  /** See `Random`. */
  enter(step: number): void;
}

const NAMESPACES = ['alpha', 'beta', 'gamma'] as const;
const KEYS = 6;

interface Namespace {
  id: string;
  readonly name: string;
  /** Ids by key. */
  readonly records: Map<string, string>;
  readonly tokens: string[];
}

interface WorkloadOptions {
  readonly controls: readonly SimulatedControl[];
  /** Of a session. */
  readonly token: string;
  readonly random: Random;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** A namespace is deleted. */
  readonly onDeleted: () => void;
}

function keysOf(namespace: string): readonly string[] {
  return Array.from({ length: KEYS }, (_, key) => `k${key}.doc.${namespace}.v1`);
}

export function createWorkload({ controls, token, random, now, onDeleted }: WorkloadOptions): Workload {
  /** In plain text, valid or not. */
  const minted = new Map<string, string[]>(NAMESPACES.map((name) => [name, []]));
  const namespaces = new Map<string, Namespace>();
  let payloads = 0;

  async function send(
    method: RestRequest['method'],
    path: string,
    body?: unknown,
  ): Promise<{ readonly status: number; readonly id: string; readonly token: string } | null> {
    const headers = { authorization: `Bearer ${token}` };
    const request = { method, path: `/api/v1${path}`, headers, ...(body === undefined ? {} : { body }) };
    const answer: RestAnswer | null = await random.pick(controls).request(request);
    if (answer === null) return null;
    const { id = '', token: plain = '' } = (answer.body ?? {}) as { id?: string; token?: string };
    return { status: answer.status, id, token: plain };
  }

  async function createNamespace(name: string): Promise<void> {
    const made = await send('POST', '/namespaces', { namespace: { name } });
    if (made?.status === 201) namespaces.set(name, { id: made.id, name, records: new Map(), tokens: [] });
    if (made?.status !== 201) return;
    if (random.chance(0.2)) await open(name);
    const max_ttl = random.pick([1, 86_400]);
    if (random.chance(0.3)) await send('PATCH', `/namespaces/${made.id}`, { namespace: { max_ttl } });
  }

  async function open(name: string): Promise<void> {
    const isOpen = random.chance(0.7);
    await random.pick(controls).operate((deps) => setPublicRead(deps, name, isOpen));
  }

  /** Something that ends soon, or perhaps never. */
  function soonOr<T>(never: T, chance: number): string | T {
    return random.chance(chance) ? new Date(now() + random.between(2_000, 10_000)).toISOString() : never;
  }

  async function upsert(namespace: Namespace): Promise<void> {
    const key = random.pick(keysOf(namespace.name));
    // Some are longer than a reply over UDP.
    const text = `payload ${++payloads} `.padEnd(random.chance(0.1) ? 1_500 : 0, 'x');
    const record = {
      data: Buffer.from(text).toString('base64'),
      content_type: random.pick(['text/plain', 'application/json', 'image/png']),
      ttl_seconds: random.pick([5, 300, 86_400]),
      expires_at: soonOr(null, 0.2),
    };
    const known = namespace.records.get(key);
    if (known !== undefined) {
      const changed = await send('PATCH', `/records/${known}`, { record });
      if (changed?.status === 404) namespace.records.delete(key);
      return;
    }
    const made = await send('POST', '/records', { record: { key, ...record } });
    if (made?.status === 201) namespace.records.set(key, made.id);
  }

  async function remove(namespace: Namespace): Promise<void> {
    const [key, id] = [...namespace.records][0] ?? [];
    if (key === undefined || id === undefined) return upsert(namespace);
    namespace.records.delete(key);
    await send('DELETE', `/records/${id}`);
  }

  async function changeToken(namespace: Namespace): Promise<void> {
    const path = `/namespaces/${namespace.id}/query_tokens`;
    const known = random.chance(0.5) ? namespace.tokens.shift() : undefined;
    if (known !== undefined) return void (await send('DELETE', `${path}/${known}`));
    const expires_at = soonOr(undefined, 0.2);
    const made = await send('POST', path, { name: 'token', expires_at });
    if (made?.status !== 201) return;
    namespace.tokens.push(made.id);
    minted.get(namespace.name)?.push(made.token);
  }

  async function any(): Promise<void> {
    const name = random.pick(NAMESPACES);
    const namespace = namespaces.get(name);
    if (namespace === undefined) return createNamespace(name);
    const kind = random.next();
    if (kind < 0.03) {
      namespaces.delete(name);
      onDeleted();
      return void (await send('DELETE', `/namespaces/${namespace.id}`));
    }
    if (kind < 0.08) return open(name);
    if (kind < 0.5) return upsert(namespace);
    return kind < 0.65 ? remove(namespace) : changeToken(namespace);
  }

  return {
    write() {
      for (let left = random.between(1, 3); left > 0; left--) void any();
    },
    writeMany() {
      for (let left = random.between(20, 60); left > 0; left--) void any();
    },
    enter: (step) => random.enter(step),
    names: {
      namespaces: NAMESPACES,
      keysOf: (name) => (minted.has(name) ? keysOf(name) : []),
      tokensOf: (name) => minted.get(name) ?? [],
    },
  };
}
