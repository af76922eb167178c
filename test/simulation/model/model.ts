import { createRegister, done, type Effect, endsBy, type Register } from './register.ts';
import { createState, namespaceOf, type RecordValue, type RecordWrite, type State } from './state.ts';
import type { Request, RestAnswer } from './told.ts';

/** A request of which the answer is not known yet. */
export interface Pending {
  readonly request: Request;
  readonly from: number;
  /** What it may write. */
  readonly writes: readonly Effect[];
  /** The first of this request was sent: what an answer tells may be as old. */
  readonly since: number;
  /** Its answer may be one that was stored before a backup was put back: then it wrote nothing. */
  readonly mayBeStored: boolean;
}

/**
 * The specification: what each name holds at each instant, from what was asked and answered alone. A write of which nobody knows the outcome
 * may have happened, until somebody sees it.
 */
export interface Model {
  readonly state: State;
  /** The number of the latest event. */
  now(): number;
  /** Milliseconds of the latest event. */
  time(): number;
  /** The first event at this time or later. */
  numberAt(ms: number): number;
  /** Something that anybody does or sees. @returns its number */
  event(ms: number): number;
  sent(ms: number, request: Request): Pending;
  answered(ms: number, pending: Pending, answer: RestAnswer): void;
  /** The process or the connection is gone. @param mayStill false: it is too late for it to happen after now */
  lost(ms: number, pending: Pending, mayStill: boolean): void;
  /** Somebody saw this payload at this key. @returns who wrote it, or null */
  seen(key: string, data: string): RecordWrite | null;
  /** A backup was put back, with all control processes down. */
  restored(ms: number, backup: number): void;
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

export function createModel(): Model {
  const state = createState();
  const times: number[] = [0];
  /** Requests with an idempotency key: a repeat has the writes of the first. */
  const repeats = new Map<
    string,
    { readonly body: string; readonly pending: Pending; readonly era: number }
  >();
  /** Requests under way with these writes: a request, and what repeats it meanwhile. */
  const underWay = new Map<readonly Effect[], number>();
  const now = (): number => times.length - 1;

  /** @returns how many others with the same writes are under way */
  function ended({ writes }: Pending): number {
    const left = underWay.get(writes)! - 1;
    if (left === 0) underWay.delete(writes);
    else underWay.set(writes, left);
    return left;
  }

  function event(ms: number): number {
    times.push(Math.max(ms, times.at(-1)!));
    return now();
  }

  const model: Model = {
    state,
    now,
    time: () => times.at(-1)!,
    event,
    numberAt(ms) {
      let low = 0;
      let high = times.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (times[middle]! < ms) low = middle + 1;
        else high = middle;
      }
      return low;
    },
    sent(ms, request) {
      const from = event(ms);
      const found = repeatOf(request);
      const repeated = found?.pending ?? null;
      // The backup has the first, or not: then this one writes again.
      const mayBeStored = found !== null && found.era !== state.era;
      const first = mayBeStored ? null : repeated;
      const writes = first?.writes ?? (mayBeStored ? again(request, from) : effectsOf(state, request, from));
      underWay.set(writes, (underWay.get(writes) ?? 0) + 1);
      const pending = { request, from, writes, since: repeated?.from ?? from, mayBeStored };
      if (first !== null) return pending;
      for (const { write } of pending.writes) write.by = request.account;
      const id = repeatId(request);
      if (id !== null && !repeats.has(id))
        repeats.set(id, { body: JSON.stringify(request.body), pending, era: state.era });
      return pending;
    },
    answered(ms, pending, { status, body }) {
      const at = event(ms);
      const others = ended(pending);
      if (status >= 500) return others > 0 ? undefined : unknown(pending, at);
      if (isSuccess(status)) {
        for (const effect of pending.writes) {
          // It may have been seen already, and a repeat is told the same again.
          if (!effect.isTold) effect.told?.(body as never, at);
          effect.isTold = true;
          if (pending.mayBeStored) endsBy(effect.write, at);
          else done(effect.write, at);
        }
        learn(pending, body, at);
        return;
      }
      const id = repeatId(pending.request);
      const first = id === null ? undefined : repeats.get(id)?.pending;
      // A repeat that is refused says nothing of the first, of which the outcome may be unknown.
      if (first !== undefined && first !== pending && first.writes === pending.writes) return;
      // What repeats it may do what was refused to it.
      if (others > 0) return;
      if (first === pending) repeats.delete(id!);
      for (const { write } of pending.writes) if (!write.isCertain) write.isVoid = true;
    },
    lost(ms, pending, mayStill) {
      const at = event(ms);
      const others = ended(pending);
      if (!mayStill && others === 0) unknown(pending, at);
    },
    seen(key, data) {
      const known = state.byData.get(data);
      if (known === undefined || known.key !== key || known.write.isVoid) return null;
      done(known.write, now());
      return known.write;
    },
    restored(ms, backup) {
      state.restore(backup, event(ms));
    },
  };
  return model;

  function unknown(pending: Pending, at: number): void {
    for (const { write } of pending.writes) if (!write.isCertain) endsBy(write, at);
  }

  function repeatId({ account, credential, path, headers }: Request): string | null {
    const key = headers?.['idempotency-key'];
    return key === undefined ? null : JSON.stringify([account, credential, path, key]);
  }

  /** The request that this one repeats, octet for octet. */
  function repeatOf(request: Request): { readonly pending: Pending; readonly era: number } | null {
    const id = repeatId(request);
    const first = id === null ? undefined : repeats.get(id);
    if (first === undefined || first.body !== JSON.stringify(request.body)) return null;
    if (first.era !== state.era) return first;
    // Where the first was lost this one may do it.
    for (const { write } of first.pending.writes) if (!write.isCertain) write.to = Number.POSITIVE_INFINITY;
    return first;
  }

  /** Its writes once more; who sees the payload has still seen the first. */
  function again(request: Request, from: number): readonly Effect[] {
    const data: string | undefined = request.body?.record?.data;
    const first = data === undefined ? undefined : state.byData.get(data);
    const writes = effectsOf(state, request, from);
    if (data !== undefined && first !== undefined) state.byData.set(data, first);
    return writes;
  }

  /** What an answer tells that no write was waiting for: what was made has an id from now on. */
  function learn({ request, since: from }: Pending, body: RestAnswer['body'], at: number): void {
    const { method, path } = request;
    if (method !== 'POST') return;
    if (path === '/webhooks') state.webhooks.made(request, body, from, at);
    const [, namespaceId] = /^\/namespaces\/([^/]+)\/query_tokens$/.exec(path) ?? [];
    if (namespaceId !== undefined && body.token !== undefined && !state.tokens.has(body.token)) {
      const isLive = createRegister(false);
      done(isLive.begin(true, from), at);
      for (const { write, effects } of state.namespaces.get(namespaceId)?.closings ?? []) {
        if (!write.isVoid && write.to >= from) effects.push({ write: isLive.begin(false, write.from) });
      }
      const token = { namespaceId, expiresAt: Date.parse(body.expires_at), isLive };
      state.tokens.set(body.token, token);
      state.tokenIds.set(body.id, token);
    }
  }
}

/** What a request writes if it is done, by the table of routes. */
function effectsOf(state: State, request: Request, from: number): readonly Effect[] {
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

/** The row of a record or a namespace; after a restore it is another one. */
const rowOf = (state: State, id: string): string => `${id} ${state.era}`;

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

/** A key that is written first while its namespace is being deleted may be gone at once; perhaps it was asked for before. */
function recordRegister(state: State, key: string, from: number): Register<RecordValue | null> {
  const register = state.record(key);
  for (const { id, name, closings } of state.namespaces.values()) {
    if (name !== namespaceOf(key)) continue;
    for (const { write: closing, effects } of closings) {
      if (closing.isVoid || closing.to < from) continue;
      if (effects.some(({ write }) => register.writes.some((each) => each === write))) continue;
      effects.push({ write: register.begin(null, closing.from, { ends: rowOf(state, id) }) });
    }
  }
  return register;
}
