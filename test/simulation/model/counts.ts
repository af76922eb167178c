import type { Model } from './model.ts';
import type { Register } from './register.ts';
import type { RestCheck } from './rest-reads.ts';
import { type NamespaceState, namespaceOf, type RecordValue } from './state.ts';
import { ModelError } from './told.ts';

interface Range {
  least: number;
  most: number;
}

/** How many of something an account has at the instants from `from` to now. */
export interface Counts {
  /** Null: nobody can say, because the answer to a new namespace was lost. */
  namespaces(account: string, from: number): Range | null;
  records(account: string, from: number): Range | null;
  recordsOf(namespace: NamespaceState, from: number): Range;
}

/** @param ahead by how many milliseconds a process that deletes what has expired may be ahead of the real time */
export function createCounts(model: Model, ahead: () => number): Counts {
  const { state } = model;

  /** An expired one counts until it is deleted. */
  const isSurelyThere = (value: RecordValue | null): boolean =>
    value !== null &&
    value.expiresAt !== undefined &&
    (value.expiresAt === null || value.expiresAt > model.time() + ahead());

  function isUncertain(account: string): boolean {
    return [...state.names.values()].some(({ writes }) =>
      writes.some(
        (write) => write.by === account && !write.isVoid && !state.namespaces.has(write.value ?? ''),
      ),
    );
  }

  function existence({ id, name, isClosed }: NamespaceState, from: number): Range {
    const values = <V>(register: Register<V>): readonly V[] =>
      register.possible(from, model.now()).map(({ value }) => value);
    const closed = values(isClosed);
    const names = values(state.name(name));
    return {
      least: closed.includes(true) || names.some((each) => each !== id) ? 0 : 1,
      most: closed.includes(false) && names.includes(id) ? 1 : 0,
    };
  }

  function recordsOf({ name, account }: NamespaceState, from: number): Range {
    const range = { least: 0, most: 0 };
    for (const [key, register] of state.records) {
      if (namespaceOf(key) !== name) continue;
      const writes = register.possible(from, model.now());
      if (writes.some(({ value, by }) => value !== null && by === account)) range.most++;
      if (writes.every(({ value, by }) => by === account && isSurelyThere(value))) range.least++;
    }
    return range;
  }

  /** @param of in one namespace that exists */
  function total(account: string, from: number, of: (namespace: NamespaceState) => Range): Range | null {
    if (isUncertain(account)) return null;
    const own = [...state.namespaces.values()].filter((space) => space.account === account);
    return sum(
      own.map((space) => {
        const { least, most } = existence(space, from);
        const inside = of(space);
        return { least: least * inside.least, most: most * inside.most };
      }),
    );
  }

  return {
    namespaces: (account, from) => total(account, from, () => ({ least: 1, most: 1 })),
    records: (account, from) => total(account, from, (space) => recordsOf(space, from)),
    recordsOf,
  };
}

/** Counts of records and namespaces, as REST tells them, are those of what was written: no write is counted twice, and none is forgotten. */
export function createCountsCheck(model: Model, counts: Counts): RestCheck {
  const { state } = model;
  return {
    answered({ request: { account, credential, method, path }, from }, { status, body }) {
      // An API key may see less.
      if (method !== 'GET' || status !== 200 || credential !== 'session') return;
      if (path === '/namespaces') {
        for (const { id, name, records_count: count } of body) {
          const namespace = state.namespaces.get(id);
          if (namespace !== undefined)
            require(`records of ${name}`, count, counts.recordsOf(namespace, from));
        }
      }
      if (path === '/me' || path === '/usage') {
        const isMe = path === '/me';
        const [namespaces, records] = [counts.namespaces(account, from), counts.records(account, from)];
        if (namespaces === null || records === null) return;
        const said = isMe ? body.namespaces_count : body.namespaces.used;
        require(`${path} of ${account}: namespaces`, said, namespaces);
        require(`${path} of ${account}: records`, isMe ? body.records_count : body.records.used, records);
      }
    },
  };
}

function sum(ranges: readonly Range[]): Range {
  return ranges.reduce((all, { least, most }) => ({ least: all.least + least, most: all.most + most }), {
    least: 0,
    most: 0,
  });
}

function require(what: string, count: number, { least, most }: Range): void {
  if (count >= least && count <= most) return;
  throw new ModelError(
    `${what} are counted as ${count}, and there are ${least === most ? '' : `${least} to `}${most}`,
  );
}
