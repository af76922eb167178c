import { createHash } from 'node:crypto';
import type { ChangeBody } from '../../src/protocol/change.ts';
import { queryTokenDigest, spellQueryToken } from '../../src/protocol/query/query-token.ts';
import type { Database } from './database.ts';
import type { Names } from './edge/names.ts';
import type { Random } from './random.ts';

/** What customers do, by the seed. Names, keys and tokens are few, so that changes meet. */
export interface Workload {
  /** One transaction of some changes. */
  write(): void;
  /** A transaction that is larger than usual. */
  writeMany(): void;
}

const NAMESPACES = ['alpha', 'beta', 'gamma'] as const;
const KEYS = 6;
const TOKENS = 4;
const EXPIRES_AT = 4_000_000_000_000;

export function namespaceId(name: string): string {
  return `00000000-0000-4000-8000-${Buffer.from(name.padEnd(6, '0').slice(0, 6)).toString('hex')}`;
}

const tokens: ReadonlyMap<string, readonly string[]> = new Map(
  NAMESPACES.map((name) => {
    const seeds = Array.from({ length: TOKENS }, (_, i) => `${name} ${i + 1}`);
    return [name, seeds.map((seed) => spellQueryToken(createHash('sha256').update(seed).digest()))];
  }),
);

export const NAMES: Names = {
  namespaces: NAMESPACES,
  keysOf: (name) => (tokens.has(name) ? [...recordKeys(name)] : []),
  tokensOf: (name) => tokens.get(name) ?? [],
};

function* recordKeys(name: string): Generator<string> {
  for (let key = 0; key < KEYS; key++) yield `k${key}.doc.${name}.v1`;
}

/** @param now milliseconds since the epoch */
export function createWorkload(database: Database, random: Random, now: () => number): Workload {
  let payloads = 0;
  const isThere = (id: string): boolean => database.history().last(id) === 'there';

  function namespace(name: string): ChangeBody {
    const id = namespaceId(name);
    const publicRead = random.chance(0.2);
    const flags = { publicRead, suspended: false, recordsCount: 0, createdAt: 0, updatedAt: 0 };
    const maxTtl = random.chance(0.5) ? { maxTtl: random.pick([1, 86_400]) } : {};
    return { type: 'namespace.upserted', namespace: name, id, ...flags, ...maxTtl };
  }

  /** As the store does it: reads end first, then records go, then the namespace. */
  function deleteNamespace(name: string): ChangeBody[] {
    const id = namespaceId(name);
    const there = [...recordKeys(name)].filter((key) => database.history().last(`record ${key}`) !== null);
    return [
      { type: 'namespace.closing', namespace: name, id },
      ...there.map((key): ChangeBody => ({ type: 'record.deleted', key, namespace: name })),
      { type: 'namespace.deleted', namespace: name, id },
    ];
  }

  /** Nobody deletes what has expired here: nodes must know by themselves. */
  function soonOr<T>(never: T, chance: number): number | T {
    return random.chance(chance) ? now() + random.between(500, 10_000) : never;
  }

  function upsert(name: string): ChangeBody {
    const key = random.pick([...recordKeys(name)]);
    // Some are longer than a reply over UDP.
    const text = `payload ${++payloads} `.padEnd(random.chance(0.1) ? 1_500 : 0, 'x');
    const data = Buffer.from(text).toString('base64');
    const labels = { namespace: name, resource: 'doc', version: 'v1' };
    const contentType = random.pick(['text/plain', 'application/json', 'image/png']);
    const rest = { contentType, ttlSeconds: random.pick([5, 300, 86_400]), expiresAt: soonOr(null, 0.2) };
    const encoding = random.chance(0.3) ? ({ encoding: 'plain' } as const) : {};
    return { type: 'record.upserted', key, ...labels, data, ...rest, ...encoding };
  }

  function any(): ChangeBody[] {
    const name = random.pick(NAMESPACES);
    if (!isThere(`namespace ${name}`)) return [namespace(name)];
    const kind = random.next();
    if (kind < 0.03) return deleteNamespace(name);
    if (kind < 0.08) return [namespace(name)];
    if (kind < 0.5) return [upsert(name)];
    if (kind < 0.65) {
      const there = [...recordKeys(name)].filter((key) => database.history().last(`record ${key}`) !== null);
      return there.length === 0
        ? [upsert(name)]
        : [{ type: 'record.deleted', key: random.pick(there), namespace: name }];
    }
    const digest = queryTokenDigest(random.pick(NAMES.tokensOf(name)));
    if (isThere(`token ${digest}`)) return [{ type: 'token.revoked', namespace: name, digest }];
    return [{ type: 'token.minted', namespace: name, digest, expiresAt: soonOr(EXPIRES_AT, 0.2) }];
  }

  return {
    write() {
      // Each change is chosen by what is there now, so they go one by one into the log and are announced with the last.
      for (let left = random.between(1, 3); left > 0; left--) database.commit(any());
    },
    writeMany() {
      const name = random.pick(NAMESPACES);
      if (!isThere(`namespace ${name}`)) database.commit([namespace(name)]);
      database.commit(Array.from({ length: random.between(20, 60) }, () => upsert(name)));
    },
  };
}
