/** What each request writes, if it is done. */
import type { AccountDeletion } from './account-deletions.ts';
import type { Effect, Register, Write } from './register.ts';
import { namespaceOf, type RecordValue, type RecordWrite, rowOf, type State } from './state.ts';
import type { Request } from './told.ts';

/** What a request writes if it is done, by the table of routes. */
export function effectsOf(state: State, request: Request, from: number): readonly Effect[] {
  const { method, path, body } = request;
  const [, collection, id, below, belowId] =
    /^\/(\w+)(?:\/([^/?]+))?(?:\/(\w+))?(?:\/([^/?]+))?/.exec(path) ?? [];
  if (method === 'GET') return [];
  if (collection === 'webhooks') return state.webhooks.effects(request, from);
  if (collection === 'records') {
    if (method === 'POST' && id === undefined) return [upsert(state, body.record.key, from, body.record)];
    if (method === 'POST' && id === 'bulk') return bulk(state, from, body);
    const key = state.keys.get(id!);
    if (key === undefined) return [];
    if (method === 'PATCH') return [upsert(state, key, from, body.record, id)];
    if (method === 'DELETE') return [{ write: remove(state, key, from, id!), key }];
  }
  if (path === '/namespaces' && method === 'POST') return [take(state, request, from)];
  if (path === '/me' && method === 'DELETE') return leave(state, request.account, from);
  if (collection === 'namespaces' && id !== undefined) {
    const namespace = state.namespaces.get(id);
    if (namespace === undefined) return [];
    if (method === 'DELETE' && below === undefined) return close(state, id, from);
    if (method === 'DELETE' && below === 'query_tokens') {
      const token = state.tokenIds.get(belowId!);
      return token === undefined ? [] : [{ write: token.isLive.begin(false, from) }];
    }
    const { max_ttl: maxTtl, public_read: publicRead, suspended } = body?.namespace ?? {};
    if (method === 'PATCH' && maxTtl !== undefined) return [{ write: namespace.maxTtl.begin(maxTtl, from) }];
    // Of the operator, by the command line.
    if (publicRead !== undefined) return [{ write: namespace.publicRead.begin(publicRead, from) }];
    if (suspended !== undefined) return [{ write: namespace.isSuspended.begin(suspended, from) }];
  }
  return [];
}

/** A namespace owns the records that were written in it, where there is no doubt which one that was. */
function namespaceRows(state: State, key: string, from: number, to: number): readonly string[] {
  const ids = state
    .name(namespaceOf(key))
    .possible(from, to)
    .flatMap(({ value }) => value ?? []);
  return ids.length === 1 ? [rowOf(state, ids[0]!)] : [];
}

interface Fields {
  readonly data?: string;
  readonly content_type?: string;
  readonly encoding?: string;
  readonly ttl_seconds?: number;
  readonly expires_at?: string | null;
  readonly expires_in?: number;
}

/** @param patched id of a record of which only what is given changes */
function upsert(state: State, key: string, from: number, fields: Fields, patched?: string): Effect {
  const isNew = patched === undefined;
  const { data, content_type: type, encoding, ttl_seconds: ttl } = fields;
  const value: RecordValue = {
    id: patched,
    data,
    contentType: type ?? (isNew ? 'application/octet-stream' : undefined),
    isPlain: encoding === undefined ? (isNew ? false : undefined) : encoding === 'plain',
    ttlSeconds: ttl ?? (isNew ? 300 : undefined),
    expiresAt: expiryOf(fields, isNew),
  };
  const register = recordRegister(state, key, from);
  const write = register.begin(value, from, { owners: isNew ? [] : [rowOf(state, patched)] });
  if (data !== undefined) state.byData.set(data, { key, write });
  return {
    write,
    key,
    told(body: { readonly id: string } & Record<string, unknown>, at) {
      state.keys.set(body.id, key);
      write.owners = [rowOf(state, body.id), ...namespaceRows(state, key, from, at)];
      // A bulk write tells the id alone.
      write.value =
        'ttl_seconds' in body
          ? { ...recordOf(body), data: data ?? recordOf(body).data }
          : { ...value, id: body.id };
    },
  };
}

function expiryOf(
  { expires_at: at, expires_in: seconds }: Fields,
  isNew: boolean,
): number | null | undefined {
  if (at !== undefined) return at === null ? null : Date.parse(at);
  if (seconds !== undefined) return seconds === 0 ? null : undefined;
  return isNew ? null : undefined;
}

/** A resource of the API as a value. */
export function recordOf(body: Readonly<Record<string, unknown>>): RecordValue {
  const expiresAt = body.expires_at as string | null;
  return {
    id: body.id as string,
    data: body.data as string | undefined,
    contentType: body.content_type as string,
    isPlain: body.encoding === 'plain',
    ttlSeconds: body.ttl_seconds as number,
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
  };
}

function remove(state: State, key: string, from: number, id: string): RecordWrite {
  return recordRegister(state, key, from).begin(null, from, { ends: rowOf(state, id) });
}

function bulk(
  state: State,
  from: number,
  body: {
    readonly records?: readonly ({ readonly key: string } & Fields)[];
    readonly delete?: readonly string[];
  },
): Effect[] {
  const records = (body.records ?? []).map((fields, i): Effect => {
    const { told, ...effect } = upsert(state, fields.key, from, fields);
    return {
      ...effect,
      told: (answer: { readonly records: readonly never[] }, at) => told?.(answer.records[i]!, at),
    };
  });
  const deletes = (body.delete ?? []).map(
    (item): Effect => ({
      write: recordRegister(state, keyOf(item), from).begin(null, from),
      key: keyOf(item),
    }),
  );
  return [...records, ...deletes];
}

/** An item of `delete` is a key, or a key with a condition. */
const keyOf = (item: string | { readonly key: string }): string =>
  typeof item === 'string' ? item : item.key;

/** A name that is free is taken. Which namespace has it then, the answer tells. */
function take(state: State, { account, body }: Request, from: number): Effect {
  const write = state.name(body.namespace.name).begin('not known yet', from);
  return {
    write,
    told({ id, name }: { readonly id: string; readonly name: string }) {
      write.value = id;
      state.namespace(id, name, account);
    },
  };
}

/**
 * The namespace is refused at once, and everything in it is gone. Its tokens end one after the other: nodes apply the log in parts, so that
 * one may be refused while another one still opens it.
 */
function close(state: State, id: string, from: number): Effect[] {
  const namespace = state.namespaces.get(id)!;
  const write = namespace.isClosed.begin(true, from);
  const effects: Effect[] = [{ write }];
  namespace.closings.push({ write, effects });
  for (const { namespaceId, isLive } of state.tokens.values())
    if (namespaceId === id) effects.push({ write: isLive.begin(false, from) });
  for (const [key, register] of state.records) {
    if (namespaceOf(key) !== namespace.name) continue;
    effects.push({ write: register.begin(null, from, { ends: rowOf(state, id) }) });
  }
  return effects;
}

/** The account is refused at once, and its webhooks end; its namespaces are closed one after the other. */
function leave(state: State, account: string, from: number): Effect[] {
  const names = [...state.names]
    .filter(([, { writes }]) => writes.some((write) => isUnknown(state, account, write)))
    .map(([name]) => name);
  const deletion = state.deletions.begin(account, new Set(names), from);
  setOff(state, deletion, from);
  return [{ write: deletion.write }, ...state.webhooks.end(account, from)];
}

/** A namespace of the account was asked for, and nobody was told its id. */
const isUnknown = (state: State, account: string, { by, isVoid, value }: Write<string | null>): boolean =>
  by === account && !isVoid && !state.namespaces.has(value ?? '');

/** What goes with the account, from then on. */
export function setOff(
  state: State,
  { account, names, follows, perhaps }: AccountDeletion,
  from: number,
): void {
  for (const { id, name, account: of, isClosed } of state.namespaces.values()) {
    const mayBeThere =
      isClosed.possible(from).some(({ value }) => !value) &&
      state
        .name(name)
        .possible(from)
        .some(({ value }) => value === id);
    if (of === account && mayBeThere) follows.push(close(state, id, from));
  }
  for (const [key, register] of state.records)
    if (names.has(namespaceOf(key))) perhaps.push({ write: register.begin(null, from) });
}

/** A key that is written first while its namespace is being deleted may be gone at once; perhaps it was asked for before. */
function recordRegister(state: State, key: string, from: number): Register<RecordValue | null> {
  const register = state.record(key);
  const isIn = (effects: readonly Effect[]): boolean =>
    effects.some(({ write }) => register.writes.some((each) => each === write));
  for (const { names, write, perhaps } of state.deletions.underWay())
    if (names.has(namespaceOf(key)) && !isIn(perhaps))
      perhaps.push({ write: register.begin(null, write.from) });
  for (const { id, name, closings } of state.namespaces.values()) {
    if (name !== namespaceOf(key)) continue;
    for (const { write: closing, effects } of closings) {
      if (closing.isVoid || closing.to < from) continue;
      if (isIn(effects)) continue;
      effects.push({ write: register.begin(null, closing.from, { ends: rowOf(state, id) }) });
    }
  }
  return register;
}
