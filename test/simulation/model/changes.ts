import type { Model } from './model.ts';
import { done, type Write } from './register.ts';
import type { RestCheck } from './rest-reads.ts';
import { ModelError } from './told.ts';

/** Somebody who follows `GET /changes` by cursor, and what was told so far. */
export interface ChangeReader {
  readonly account: string;
  /** When it asked where the present end is, and when it was answered: from then on it must have every change. */
  readonly asked: number;
  readonly since: number;
  readonly heard: Change[];
}

interface Change {
  readonly event: string;
  readonly namespace: string;
  readonly key?: string;
  readonly etag?: string;
}

/** Each reader is told every change of its account once, in an order in which they can have happened. */
export interface ChangesCheck extends RestCheck {
  /** @param asked the event at which the reader asked where the present end is; it was answered now */
  begin(account: string, asked: number): ChangeReader;
  /**
   * A page that began where the one before ended.
   * @param asked the event at which it was asked for
   * @param isLast there was nothing more
   * @param waitMs for so long it was to wait for the first change
   * @throws ModelError
   */
  page(
    reader: ChangeReader,
    changes: readonly Change[],
    asked: number,
    isLast: boolean,
    waitMs?: number,
  ): void;
}

/** Of one key: writes that are told, and changes of which nobody can say whose they are. */
interface Untagged {
  readonly writes: readonly Write<unknown>[];
  changes: number;
}

/** No clock is faster (`harms.ts`). */
const FAST = 0.06;

export function createChangesCheck(model: Model): ChangesCheck {
  const { state } = model;
  /** By key and entity tag, where an answer had one. A record that is made again in the same millisecond has the tag of the one before. */
  const byTag = new Map<string, Write<unknown>[]>();
  const tagged = new Set<Write<unknown>>();
  /** Deletions of nothing. */
  const silent = new Set<Write<unknown>>();

  return {
    answered({ request, writes }, { status, body, headers }) {
      const { method, path } = request;
      if (status < 200 || status >= 300 || !path.startsWith('/records')) return;
      const [only] = writes;
      if (typeof headers.etag === 'string' && method !== 'DELETE' && only?.key !== undefined) {
        const tag = `${only.key} ${headers.etag}`;
        if (!tagged.has(only.write)) byTag.set(tag, [...(byTag.get(tag) ?? []), only.write]);
        tagged.add(only.write);
      }
      if (path !== '/records/bulk') return;
      const deleted = body.deleted as readonly (string | null)[];
      for (const [i, id] of deleted.entries()) {
        if (id === null) silent.add(writes[writes.length - deleted.length + i]!.write);
      }
    },
    begin: (account, asked) => ({ account, asked, since: model.now(), heard: [] }),
    page(reader, changes, sent, isLast, waitMs = 0) {
      reader.heard.push(...changes);
      if (!isLast) return;
      const asked = changes.length === 0 ? readAgain(sent, waitMs) : sent;
      const rest = checkTagged(reader, asked);
      for (const isDeletion of [false, true]) checkUntagged(reader, rest, asked, isDeletion);
      checkClosings(reader, asked);
    },
  };

  /** A page is read once more when nothing came until the end of the wait. The clock that ends it may be fast. */
  function readAgain(asked: number, waitMs: number): number {
    const until = model.timeOf(asked) + waitMs;
    const early = waitMs * FAST + 1_000;
    return waitMs === 0 || model.time() < until ? asked : Math.max(asked, model.numberAt(until - early));
  }

  /** Of the account, and answered before the page was asked for. */
  function mustBeTold(write: Write<unknown>, { account, since }: ChangeReader, asked: number): boolean {
    return (
      isDirect(write) && write.by === account && write.isCertain && write.from > since && write.to < asked
    );
  }

  /** @returns changes without a tag of their own: of bulk writes and of writes that were never answered */
  function checkTagged(reader: ChangeReader, asked: number): readonly Change[] {
    const seen = new Set<Write<unknown>>();
    const rest: Change[] = [];
    let latest = 0;
    for (const change of reader.heard) {
      const writes = byTag.get(tagOf(change));
      if (writes === undefined) {
        rest.push(change);
        continue;
      }
      const left = writes.filter((each) => !seen.has(each)).sort((a, b) => a.to - b.to);
      const write = left.find(({ to }) => to >= latest) ?? left[0];
      if (write === undefined) {
        // A bulk write, a deletion, and a record that is made again, in one millisecond.
        rest.push(change);
        continue;
      }
      const isOnly = reader.heard.filter((each) => tagOf(each) === tagOf(change)).length <= writes.length;
      if (write.to < latest) throw fault(reader, `${JSON.stringify(change)} comes too late`);
      seen.add(write);
      // Which of several changes with this tag is of this write, nobody can say.
      if (isOnly) latest = Math.max(latest, write.from);
    }
    for (const [tag, writes] of byTag) {
      const isMissing = writes.some((write) => mustBeTold(write, reader, asked) && !seen.has(write));
      if (isMissing) throw fault(reader, `lacks ${tag}`);
    }
    return rest;
  }

  /** Bulk writes, deletions, and what was never answered: how many there are of a key. */
  function checkUntagged(
    reader: ChangeReader,
    rest: readonly Change[],
    asked: number,
    isDeletion: boolean,
  ): void {
    const event = isDeletion ? 'record.deleted' : 'record.upserted';
    const untagged = new Map<string, Untagged>();
    for (const [key, { writes }] of state.records) {
      const some = writes.filter(
        (write) => isDirect(write) && (write.value === null) === isDeletion && !tagged.has(write),
      );
      untagged.set(key, { writes: some, changes: 0 });
    }
    for (const change of rest) {
      if (change.event !== event) continue;
      const of = untagged.get(change.key!);
      if (of === undefined) throw fault(reader, `${JSON.stringify(change)} is of no write`);
      of.changes++;
    }
    for (const [key, { writes, changes }] of untagged) {
      const may = writes.filter((write) => write.by === reader.account && write.to >= reader.asked);
      const must = may.filter((write) => mustBeTold(write, reader, asked));
      if (changes > may.length)
        throw fault(reader, `has more changes of ${key} than there were writes, or one twice`);
      if (changes < must.length) throw fault(reader, `lacks a write of ${key}`);
      // All that may have happened has.
      if (changes === may.length) for (const write of may) done(write, model.now());
    }
  }

  function checkClosings(reader: ChangeReader, asked: number): void {
    const { account, heard } = reader;
    const spaces = [...state.namespaces.values()].filter((space) => space.account === account);
    for (const name of new Set(
      heard.filter(({ key }) => key === undefined).map(({ namespace }) => namespace),
    )) {
      const told = heard.filter(
        ({ event, namespace }) => event === 'namespace.closing' && namespace === name,
      );
      const may = spaces.filter(
        (space) => space.name === name && space.closings.some(({ write }) => !write.isVoid),
      );
      if (told.length > may.length)
        throw fault(reader, `tells of the deletion of ${name} twice, or nobody asked for it`);
    }
    for (const { name } of spaces) {
      const closings = spaces.filter((space) => space.name === name).flatMap((space) => space.closings);
      const must = closings.filter(({ write }) => mustBeTold(write, reader, asked));
      const told = heard.filter(
        ({ event, namespace }) => event === 'namespace.closing' && namespace === name,
      );
      if (told.length < must.length) throw fault(reader, `lacks the deletion of ${name}`);
    }
  }

  /** Not what was there at the beginning, and not what went with its namespace: that is not told. */
  function isDirect(write: Write<unknown>): boolean {
    const isCascade = state.namespaces.has(write.ends?.split(' ')[0] ?? '');
    return !write.isVoid && write.from > 0 && !isCascade && !silent.has(write);
  }
}

const tagOf = ({ key, etag }: Change): string => `${key} ${etag}`;

const fault = ({ account }: ChangeReader, text: string): ModelError =>
  new ModelError(`/changes of ${account} ${text}`);
