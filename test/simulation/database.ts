import { nextEpoch } from '../../src/base/ids.ts';
import type { ChangeSource } from '../../src/feed/ports/change-source.ts';
import type { FeedKeyStore } from '../../src/feed/ports/feed-store.ts';
import { sumsOf, type UsageBatch, type UsageSink } from '../../src/feed/ports/usage-sink.ts';
import type { Change, ChangeBody } from '../../src/protocol/change.ts';
import { createMemoryFeedKeys } from '../support/feed/keys/memory-feed-keys.ts';
import { createHistory, type History } from './history.ts';
import type { ProcessTimers, Scheduler } from './scheduler.ts';

/** The truth of the control side: a log, what it made, and the sums of usage. It stands for PostgreSQL. */
export interface Database {
  readonly epoch: string;
  readonly head: number;
  readonly oldest: number;
  /** The greatest `seq` that was ever pruned. */
  readonly prunedTo: number;
  history(epoch?: string): History;
  /** One transaction. */
  commit(bodies: readonly ChangeBody[]): void;
  /** What one process sees of it. */
  source(process: ProcessTimers): ChangeSource;
  usage(process: ProcessTimers): UsageSink;
  keys(process: ProcessTimers): FeedKeyStore;
  /** Answers that were added, by namespace. */
  sums(): ReadonlyMap<string, number>;
  /** Answers that a restored backup did not have any more. */
  readonly answersLost: number;
  /** Batches that came again. */
  readonly repeats: number;
  /** No call succeeds. */
  isDown: boolean;
  /** Commits are not announced. */
  isMute: boolean;
  prune(seq: number): void;
  backUp(): void;
  /** Puts the backup back; the operator gives the database the next epoch (`uqrp feed epoch`). */
  restore(): void;
}

interface Contents {
  readonly log: readonly Change[];
  readonly things: ReadonlyMap<string, ChangeBody>;
  readonly batches: ReadonlyMap<string, number>;
  readonly sums: ReadonlyMap<string, number>;
  readonly oldest: number;
}

export interface DatabaseOptions {
  readonly scheduler: Scheduler;
  /** Milliseconds that a call takes. */
  readonly delay: () => number;
  readonly pageSize: number;
}

export function createDatabase(options: DatabaseOptions): Database {
  const { scheduler, delay, pageSize } = options;
  const listeners = new Set<(seq: number) => void>();
  const histories = new Map<string, History>();
  let epoch = 'epoch';
  let log: Change[] = [];
  let things = new Map<string, ChangeBody>();
  let batches = new Map<string, number>();
  let sums = new Map<string, number>();
  let oldest = 1;
  let lost = 0;
  let repeats = 0;
  let prunedTo = 0;
  /** `seq` of the last change of each record. */
  let payloads = new Map<string, number>();
  const keys = createMemoryFeedKeys();
  let backup = copy();
  histories.set(epoch, createHistory());

  const head = (): number => log.length;
  const history = (): History => histories.get(epoch)!;

  function copy(): Contents {
    const [batchesThen, sumsThen] = [new Map(batches), new Map(sums)];
    return { log: [...log], things: new Map(things), batches: batchesThen, sums: sumsThen, oldest };
  }

  function record(body: ChangeBody, seq: number): void {
    const id = thingOf(body);
    if (id === null) return;
    const value = contentOf(body);
    history().put(id, seq, value);
    if (value === null) things.delete(id);
    else things.set(id, body);
    if (body.type === 'namespace.deleted') dropTokens(body.namespace, seq);
    if (!id.startsWith('record ')) return;
    history().erase(id);
    // As the store does: a payload is in the log once at most.
    const before = payloads.get(id);
    const change = before === undefined ? undefined : log[before - 1];
    if (change !== undefined && thingOf(change) === id) log[change.seq - 1] = withoutData(change);
    payloads.set(id, seq);
  }

  function dropTokens(namespace: string, seq: number): void {
    for (const [id, body] of things) {
      if (body.type !== 'token.minted' || body.namespace !== namespace) continue;
      history().put(id, seq, null);
      things.delete(id);
    }
  }

  function call<T>(process: ProcessTimers, run: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      process.after(delay(), () => {
        if (database.isDown) return reject(new Error('the database is down'));
        try {
          resolve(run());
        } catch (error) {
          reject(error as Error);
        }
      });
    });
  }

  function addUsage(batch: UsageBatch): void {
    const counts = sumsOf(batch);
    const id = `${batch.node} ${batch.batch}`;
    if (batches.has(id)) {
      repeats++;
      return;
    }
    let answers = 0;
    for (const count of counts) {
      answers += count.answers;
      sums.set(count.namespaceId, (sums.get(count.namespaceId) ?? 0) + count.answers);
    }
    batches.set(id, answers);
  }

  async function* pages(process: ProcessTimers): AsyncGenerator<readonly ChangeBody[]> {
    const began = epoch;
    for (const kind of ['namespace ', 'token ', 'record ']) {
      for (let after = kind; ; ) {
        const from = after;
        const page = await call(process, () => {
          if (epoch !== began) throw new Error('the connection was closed');
          const ids = [...things.keys()].filter((id) => id.startsWith(kind) && id > from).sort();
          return ids.slice(0, pageSize).map((id) => [id, things.get(id)!] as const);
        });
        const last = page.at(-1);
        if (last === undefined) break;
        yield page.map(([, body]) => body);
        after = last[0];
      }
    }
  }

  const database: Database = {
    isDown: false,
    isMute: false,
    get epoch() {
      return epoch;
    },
    get head() {
      return head();
    },
    get oldest() {
      return oldest;
    },
    get prunedTo() {
      return prunedTo;
    },
    get answersLost() {
      return lost;
    },
    get repeats() {
      return repeats;
    },
    history: (of = epoch) => histories.get(of)!,
    sums: () => sums,
    commit(bodies) {
      for (const body of bodies) {
        const seq = head() + 1;
        log.push({ ...body, seq, at: scheduler.now(), owner: null, cause: 'direct' });
        record(body, seq);
      }
      if (!database.isMute) for (const listener of listeners) listener(head());
    },
    source(process) {
      let heardAt: number | null = null;
      const heard = <T>(value: T): T => {
        heardAt = scheduler.now();
        return value;
      };
      return {
        bounds: async () => heard(await call(process, () => ({ epoch, oldest, head: head() }))),
        since: async (seq, limit) =>
          heard(
            await call(process, () => {
              const from = Math.max(seq, oldest - 1);
              return log.slice(from, from + limit);
            }),
          ),
        async openSnapshot() {
          const opened = await call(process, () => ({ epoch, seq: head() }));
          return { ...opened, pages: pages(process) };
        },
        onChange(listener) {
          const heardOf = (seq: number): void => {
            process.after(1, () => listener(seq));
          };
          listeners.add(heardOf);
          return () => listeners.delete(heardOf);
        },
        heardAt: () => heardAt,
      };
    },
    keys: (process) => ({
      read: () => call(process, () => keys.read()),
      add: (key) => call(process, () => keys.add(key)),
      keep: (first, last) => call(process, () => keys.keep(first, last)),
      replaceAll: (key) => call(process, () => keys.replaceAll(key)),
    }),
    usage: (process) => ({ add: (batch) => call(process, () => addUsage(batch)) }),
    prune(seq) {
      oldest = Math.max(oldest, Math.min(seq, head()) + 1);
      prunedTo = Math.max(prunedTo, oldest - 1);
    },
    backUp() {
      backup = copy();
    },
    restore() {
      for (const [id, answers] of batches) if (!backup.batches.has(id)) lost += answers;
      log = [...backup.log];
      things = new Map(backup.things);
      batches = new Map(backup.batches);
      sums = new Map(backup.sums);
      oldest = backup.oldest;
      payloads = new Map(log.map((change) => [thingOf(change) ?? '', change.seq]));
      const restored = history().upTo(head());
      epoch = nextEpoch(epoch, scheduler.now());
      histories.set(epoch, restored);
    },
  };
  return database;
}

function withoutData(change: Change): Change {
  return change.type === 'record.upserted' ? { ...change, data: null } : change;
}

/** What a change is about; null: nothing that a view holds. */
export function thingOf(body: ChangeBody): string | null {
  if ('key' in body) return `record ${body.key}`;
  if ('digest' in body) return `token ${body.digest}`;
  return body.type.startsWith('namespace.') ? `namespace ${body.namespace}` : null;
}

function contentOf(body: ChangeBody): string | null {
  switch (body.type) {
    case 'record.upserted':
      return body.data;
    case 'token.minted':
    case 'namespace.upserted':
      return 'there';
    case 'namespace.closing':
      return 'closing';
    default:
      return null;
  }
}
