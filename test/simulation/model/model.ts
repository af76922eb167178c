import { effectsOf, setOff } from './effects.ts';
import { createRegister, done, type Effect, endsBy } from './register.ts';
import { createState, type RecordWrite, type State } from './state.ts';
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
  /** Milliseconds of an event. */
  timeOf(event: number): number;
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
  /** Accounts that were deleted are gone, with all that they had. */
  settled(ms: number): void;
  /**
   * A copy of that event took the place of the database.
   * @param mayStill false: all control processes were down; else what they were asked before may still be done
   */
  restored(ms: number, copy: number, mayStill?: boolean): void;
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300;

export function createModel(): Model {
  const state = createState();
  const times: number[] = [0];
  /** Requests with an idempotency key: a repeat has the writes of the first. */
  const repeats = new Map<string, { readonly pending: Pending; readonly era: number }>();
  /** Requests under way with these writes: a request, and what repeats it meanwhile. */
  const underWay = new Map<readonly Effect[], number>();
  /** Requests that may still be done, as far as anybody knows. */
  const perhaps = new Set<Pending>();
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
    timeOf: (number) => times[number]!,
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
      perhaps.add(pending);
      if (first !== null) return pending;
      for (const { write } of pending.writes) write.by = request.account;
      const id = repeatId(request);
      if (id !== null && !repeats.has(id)) repeats.set(id, { pending, era: state.era });
      return pending;
    },
    answered(ms, pending, { status, body }) {
      const at = event(ms);
      const others = ended(pending);
      perhaps.delete(pending);
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
      state.deletions.dropRefused();
    },
    lost(ms, pending, mayStill) {
      const at = event(ms);
      const others = ended(pending);
      if (mayStill) return;
      perhaps.delete(pending);
      if (others === 0) unknown(pending, at);
    },
    seen(key, data) {
      const known = state.byData.get(data);
      if (known === undefined || known.key !== key || known.write.isVoid) return null;
      done(known.write, now());
      return known.write;
    },
    settled(ms) {
      state.deletions.settled(event(ms));
    },
    restored(ms, copy, mayStill = false) {
      const goingOn = state.restore(copy, event(ms));
      // After what came back.
      const from = event(ms);
      for (const deletion of goingOn) setOff(state, deletion, from);
      if (!mayStill) perhaps.clear();
      for (const { request } of perhaps)
        for (const { write } of again(request, from)) write.by = request.account;
    },
  };
  return model;

  function unknown(pending: Pending, at: number): void {
    for (const { write } of pending.writes) if (!write.isCertain) endsBy(write, at);
  }

  /** With its body: of several that come with one key at once, any may be the first. */
  function repeatId({ account, credential, path, headers, body }: Request): string | null {
    const key = headers?.['idempotency-key'];
    return key === undefined ? null : JSON.stringify([account, credential, path, key, body]);
  }

  /** The request that this one repeats, octet for octet. */
  function repeatOf(request: Request): { readonly pending: Pending; readonly era: number } | null {
    const id = repeatId(request);
    const first = id === null ? undefined : repeats.get(id);
    if (first === undefined) return null;
    if (first.era !== state.era) return first;
    // Where the first was lost this one may do it.
    for (const { write } of first.pending.writes) if (!write.isCertain) write.to = Number.POSITIVE_INFINITY;
    return first;
  }

  /** Its writes once more; who sees the payload has still seen the first. */
  function again(request: Request, from: number): readonly Effect[] {
    const { record, records = [] } = request.body ?? {};
    const known = [record, ...records].flatMap((fields) => {
      const first = state.byData.get(fields?.data);
      return first === undefined ? [] : [[fields.data, first] as const];
    });
    const writes = effectsOf(state, request, from);
    for (const [data, first] of known) state.byData.set(data, first);
    return writes;
  }

  /** What an answer tells that no write was waiting for: what was made has an id from now on. */
  function learn({ request, since: from }: Pending, body: RestAnswer['body'], at: number): void {
    const { method, path } = request;
    if (method !== 'POST') return;
    if (path === '/webhooks') {
      const made = state.webhooks.made(request, body, from, at);
      if (made === null) return;
      for (const { write, follows } of state.deletions.underWay(request.account))
        follows.push([{ write: made.isDeleted.begin(true, write.from) }]);
    }
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
