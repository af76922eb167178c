import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import {
  findReadableNamespace,
  findReadNamespace,
  liveKeyDigestsFrom,
  liveTokensFrom,
  type ReadNamespace,
} from '../../store/flags.ts';
import type { Store } from '../../store/store.ts';
import type { ChangeReader } from '../changes/api.ts';
import { FlagSet, flagOfKey, loadFlags, readFlags } from './documents.ts';
import { type FoundKey, openKnownKeys } from './known-keys.ts';
import {
  type Credential,
  type Documents,
  type FlagChange,
  type FlagNamespace,
  type FlagSource,
  type Grant,
  isReadable,
  namespaceOf,
  readerOf,
} from './source.ts';

export interface FlagSourceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly changeReader: ChangeReader;
  /** Finds the actor of an API key by the digest of its token. */
  readonly apiKey: (digest: string) => Promise<FoundKey | null>;
  readonly onError: (error: unknown) => void;
}

/** Milliseconds that a request waits for changes that are committed already; then it goes on with what is known. */
const CATCH_UP_MS = 500;
/** Milliseconds that the first request of a namespace waits for the reader of the log. */
const BEGIN_MS = 5_000;
/** Milliseconds after a failed read of changed flags. */
const AGAIN_MS = 1_000;

interface Entry {
  row: ReadNamespace;
  readonly flags: FlagSet;
  readonly stop: () => void;
  /** Of the log, when it was followed. */
  readonly epoch: string | null;
  /** When the query tokens expire that were asked for, by digest. */
  readonly tokens: Map<string, number>;
  /** Grows with each revocation, which forgets all of them. */
  revocations: number;
  /** Flags to read again; `all`: everything. */
  dirty: Set<string>;
  mustLoad: boolean;
  mustLook: boolean;
  change: Pick<FlagChange, 'seq' | 'epoch' | 'at'> | null;
  /** Of the last change of a flag. */
  changedAt: number;
  reading: Promise<void> | null;
  /** Streams that need to be told of changes. */
  holds: number;
}

/** Reads the store, and the change log through the reader that the feed of changes uses. */
export function openFlagSource(deps: FlagSourceDeps): FlagSource {
  const { store, clock, timers, changeReader, apiKey, onError } = deps;
  const { read } = store;
  /** In order of use, the least recent first. */
  const entries = new Map<string, Entry>();
  const opening = new Map<string, Promise<Entry | null>>();
  const tokens = new Map<string, Entry>();
  const keys = openKnownKeys(store, clock, apiKey);
  const listeners = new Set<(change: FlagChange) => void>();
  let cost = 0;
  /** The last change that was committed, as far as this process has heard. */
  let head = 0;
  /** Of the log with it; null: not known yet. */
  let epoch: string | null = null;
  /** Until when no request waits: the log could not be read in time. */
  let lateUntil = 0;
  let isClosed = false;
  const unlisten = store.changes.onChange((seq) => {
    head = Math.max(head, seq);
  });

  /** Rejects when the database was away for longer than what is known may be used. */
  async function requireRecent(): Promise<void> {
    const age = Math.abs(clock() - (store.changes.heardAt() ?? 0));
    // After a pause of the whole process nothing is wrong.
    if (age > LIMITS.flagsWithoutStoreMs) await store.changes.bounds();
  }

  /** What was committed before the request is known to its evaluation, in the process that committed it. */
  async function catchUp(): Promise<void> {
    const place = changeReader.place();
    // After a failover the head of before may be hours away.
    if (epoch !== null && epoch !== changeReader.epoch()) head = place ?? 0;
    epoch = changeReader.epoch();
    if (place === null || place >= head || timers.elapsed() < lateUntil) return;
    if ((await withinTime(timers, changeReader.reached(head), CATCH_UP_MS)) !== null) return;
    lateUntil = timers.elapsed() + AGAIN_MS;
  }

  function drop(entry: Entry): void {
    entry.stop();
    if (entries.get(entry.row.name) === entry) entries.delete(entry.row.name);
    forgetTokens(entry);
    cost -= entry.flags.cost;
    entry.flags.clear();
  }

  function forgetTokens(entry: Entry): void {
    for (const digest of entry.tokens.keys()) tokens.delete(digest);
    entry.tokens.clear();
  }

  function makeRoom(): void {
    for (const entry of entries.values()) {
      if (entries.size <= LIMITS.flagNamespaces && cost <= LIMITS.flagOctets) return;
      if (entry.holds === 0) drop(entry);
      else if (cost > LIMITS.flagOctets) {
        cost -= entry.flags.cost;
        entry.flags.clear();
        entry.mustLoad = true;
      }
    }
  }

  async function readAgain(entry: Entry): Promise<void> {
    const { name } = entry.row;
    while (isDirty(entry)) {
      const { mustLook, mustLoad, dirty } = entry;
      entry.mustLook = entry.mustLoad = false;
      entry.dirty = new Set();
      try {
        const row = mustLook ? await findReadNamespace(read, name) : entry.row;
        if (row === null || row.id !== entry.row.id) {
          drop(entry);
          return;
        }
        entry.row = row;
        const before = entry.flags.cost;
        if (mustLoad) await loadFlags(read, entry.flags, row, clock());
        else if (entry.flags.isWhole && dirty.size > 0) {
          const found = await readFlags(read, row, [...dirty], clock());
          for (const [key, document] of found) entry.flags.set(key, document);
        }
        if (entries.get(name) === entry) cost += entry.flags.cost - before;
      } catch (error) {
        entry.mustLook ||= mustLook;
        entry.mustLoad ||= mustLoad;
        for (const key of dirty) entry.dirty.add(key);
        throw error;
      }
    }
    const { change } = entry;
    entry.change = null;
    if (change !== null) {
      const told = { ...change, namespace: namespaceOf(entry.row), tag: () => entry.flags.tag(clock()) };
      for (const listener of listeners) listener(told);
    }
    makeRoom();
  }

  /** Reads what has changed. What is known stays in use when that fails, and is read again in a second. */
  function refresh(entry: Entry): Promise<void> {
    entry.reading ??= readAgain(entry)
      .catch((error: unknown) => {
        onError(error);
        timers.after(AGAIN_MS, () => {
          if (!isClosed && entries.get(entry.row.name) === entry) void refresh(entry);
        });
      })
      .finally(() => {
        entry.reading = null;
      });
    return entry.reading;
  }

  function offer(entry: Entry, rows: Parameters<Parameters<ChangeReader['follow']>[0]['offer']>[0]): void {
    const { name } = entry.row;
    for (const { type, namespace, key, seq, at } of rows) {
      if (namespace !== name) continue;
      if (type === 'namespace.closing' || type === 'namespace.deleted') {
        drop(entry);
        return;
      }
      if (type === 'namespace.upserted') entry.mustLook = true;
      if (type === 'token.revoked') {
        entry.revocations++;
        forgetTokens(entry);
      }
      const flag = key === null ? null : flagOfKey(key, name);
      if (flag === null) continue;
      entry.dirty.add(flag);
      // Enough may be gone that the rest can be kept.
      if (!entry.flags.isWhole && type === 'record.deleted') entry.mustLoad = true;
      entry.change = { seq, epoch: changeReader.epoch(), at };
      entry.changedAt = seq;
    }
    if (isDirty(entry)) void refresh(entry);
  }

  async function openEntry(name: string): Promise<Entry | null> {
    const row = await findReadNamespace(read, name);
    if (row === null || isClosed) return null;
    const begun = Promise.withResolvers<number>();
    let entry: Entry | null = null;
    const stop = changeReader.follow({
      customerId: row.customer_id,
      begin: (from) => begun.resolve(from),
      offer: (rows) => entry && offer(entry, rows),
    });
    // The first read of the log may fail: the database has just gone.
    const from = await withinTime(timers, begun.promise, BEGIN_MS);
    if (from === null) {
      stop();
      throw new Error('the log could not be read in time');
    }
    const opened: Entry = {
      row,
      flags: new FlagSet(),
      stop,
      epoch: changeReader.epoch(),
      tokens: new Map(),
      revocations: 0,
      dirty: new Set(),
      mustLoad: true,
      mustLook: true,
      change: null,
      // What was offered before was not noted: this place is behind it.
      changedAt: changeReader.place() ?? from,
      reading: null,
      holds: 0,
    };
    entry = opened;
    entries.set(name, opened);
    try {
      await readAgain(opened);
    } catch (error) {
      drop(opened);
      throw error;
    }
    return entries.get(name) === opened ? opened : null;
  }

  async function entryOf(name: string): Promise<Entry | null> {
    const known = entries.get(name);
    if (known !== undefined && !opening.has(name)) {
      await requireRecent();
      await catchUp();
      if (known.reading !== null) await withinTime(timers, known.reading, CATCH_UP_MS);
      // In the log of another epoch, after a restored backup, what was read is not what is there.
      const isOfThisLog = known.epoch === changeReader.epoch() || known.epoch === null;
      if (entries.get(name) === known && isOfThisLog) {
        entries.delete(name);
        entries.set(name, known);
        if (known.mustLoad) await refresh(known);
        return known;
      }
      if (entries.get(name) === known) drop(known);
    }
    let under = opening.get(name);
    if (under === undefined) {
      under = openEntry(name).finally(() => opening.delete(name));
      opening.set(name, under);
    }
    return under;
  }

  /** Looks a token up again as long as tokens of its namespace are revoked meanwhile. */
  async function learnToken(digest: string): Promise<Grant | null> {
    for (;;) {
      const [found] = await liveTokensFrom(read, digest, clock());
      const entry = found === undefined ? null : await entryOf(found.namespace);
      if (found === undefined || entry === null) return null;
      // The name has passed to another namespace, and the log was not read so far.
      if (entry.row.id !== found.namespace_id) {
        drop(entry);
        continue;
      }
      const { revocations } = entry;
      const [token] = await liveTokensFrom(read, digest, clock());
      if (token === undefined) return null;
      if (entry.revocations !== revocations) continue;
      if (entries.get(entry.row.name) === entry) {
        entry.tokens.set(digest, token.expires_at);
        tokens.set(digest, entry);
      }
      return { kind: 'token', namespace: entry.row };
    }
  }

  async function tokenGrant(digest: string): Promise<Grant | null> {
    await catchUp();
    const entry = tokens.get(digest);
    const expiresAt = entry?.tokens.get(digest);
    if (entry === undefined || expiresAt === undefined) return learnToken(digest);
    await requireRecent();
    return expiresAt > clock() ? { kind: 'token', namespace: entry.row } : null;
  }

  /** Null: of this id there is none, whoever has its name. */
  async function entryOfNamespace({ id, name }: FlagNamespace): Promise<Entry | null> {
    const entry = await entryOf(name);
    return entry?.row.id === id ? entry : null;
  }

  function documentsOf({ row, flags }: Entry): Documents {
    return {
      async get(key) {
        if (flags.isWhole) return flags.get(key, clock());
        return (await readFlags(read, row, [key], clock())).get(key) ?? null;
      },
      all: () => (flags.isWhole ? flags.all(clock()) : null),
      cost: () => flags.cost,
      tag: () => flags.tag(clock()),
      hasHad: (tag) => flags.hasHad(tag, clock()),
    };
  }

  return {
    async token({ kind, digest }) {
      if (kind === 'token') return tokenGrant(digest);
      const actor = await keys.actor(digest);
      return actor && { kind, actor };
    },
    async beginning(start) {
      const known: Credential[] = [];
      for (const digest of tokens.keys()) if (digest.startsWith(start)) known.push({ kind: 'token', digest });
      for (const digest of keys.beginning(start)) known.push({ kind: 'key', digest });
      if (known.length > 0) return known;
      const [found, digests] = await Promise.all([
        liveTokensFrom(read, start, clock()),
        liveKeyDigestsFrom(read, start, clock()),
      ]);
      return [
        ...found.map(({ digest }) => ({ kind: 'token' as const, digest })),
        ...digests.map((digest) => ({ kind: 'key' as const, digest })),
      ];
    },
    async namespace(name, grant) {
      const entry = entries.get(name);
      // The work for a private namespace of others is that for none, also while its flags are in use.
      if (entry === undefined || !isReadable(entry.row, grant)) {
        const row = await findReadableNamespace(read, name, readerOf(grant));
        return row && namespaceOf(row);
      }
      const known = await entryOf(name);
      return known && namespaceOf(known.row);
    },
    async documents(namespace) {
      const entry = await entryOfNamespace(namespace);
      return entry && documentsOf(entry);
    },
    async hold(namespace) {
      const entry = await entryOfNamespace(namespace);
      if (entry === null) return null;
      entry.holds++;
      return {
        changedAt: () => entry.changedAt,
        isSettled: () => entries.get(entry.row.name) === entry && entry.reading === null && !isDirty(entry),
        tag: () => entry.flags.tag(clock()),
        release() {
          entry.holds--;
          makeRoom();
        },
      };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      isClosed = true;
      unlisten();
      keys.close();
      for (const entry of [...entries.values()]) drop(entry);
    },
  };
}

function isDirty({ mustLook, mustLoad, dirty }: Entry): boolean {
  return mustLook || mustLoad || dirty.size > 0;
}

/** @returns null when the time is over first */
async function withinTime<T>(timers: Timers, work: Promise<T>, ms: number): Promise<T | null> {
  const late = Promise.withResolvers<null>();
  const cancel = timers.after(ms, () => late.resolve(null));
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    cancel();
  }
}
