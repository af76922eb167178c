import assert from 'node:assert/strict';
import type { Clock } from '../../../src/base/time.ts';
import type { ChangeSource, LogBounds } from '../../../src/feed/ports/change-source.ts';
import type { AppliedChange, Change, ChangeBody } from '../../../src/protocol/change.ts';
import type { HostedRecord } from '../../../src/view/view.ts';
import { createMemoryView, type MemoryState } from '../view/memory-view.ts';

type Call = 'bounds' | 'since' | 'openSnapshot' | 'page';

/** A change source in memory, with faults that the test chooses. */
export interface FakeSource extends ChangeSource {
  /** Commits changes at once, each with the next `seq`. */
  write(...bodies: readonly AppliedChange[]): void;
  /** Deletes all changes up to `seq`. */
  prune(seq: number): void;
  /** Restores log and state to `seq`, as from a backup. */
  restore(seq: number): void;
  /** The expected content of a view at the head. */
  state(): MemoryState;
  /** Calls made so far. */
  readonly calls: Readonly<Record<Call, number>>;
  /** Runs before each call is answered; may throw, write, or return a promise to wait for. */
  before: (call: Call, page: number) => unknown;
  /** The database's identity; a test changes it to simulate another one. */
  epoch: string;
  /** Whether commits are announced. */
  announcing: boolean;
  /** Changes the result of `since`. */
  bend: (changes: readonly Change[]) => readonly Change[];
  readonly listeners: ReadonlySet<(seq: number) => void>;
}

/** @param pageSize bodies of a page of the snapshot */
export function createFakeSource(pageSize = 2, clock: Clock = () => 0): FakeSource {
  let log: Change[] = [];
  let oldest = 1;
  const calls = { bounds: 0, since: 0, openSnapshot: 0, page: 0 };
  let heardAt: number | null = null;
  const listeners = new Set<(seq: number) => void>();
  const head = (): number => log.length;

  const called = async (call: Call, page = 0): Promise<void> => {
    calls[call]++;
    await source.before(call, page);
    heardAt = clock();
  };
  const stateAt = (seq: number): MemoryState => {
    const view = createMemoryView();
    // Resolves later, but has applied everything when it returns.
    void view.apply(log.slice(0, seq), seq);
    view.state.epoch = source.epoch;
    return view.state;
  };

  /** Rows in key order, read page by page: writes between two pages show in the later ones. */
  async function* pages(rows: (state: MemoryState) => [string, ChangeBody][]): AsyncGenerator<ChangeBody[]> {
    for (let after = '', page = 0; ; page++) {
      await called('page', page);
      const next = rows(stateAt(head()))
        .filter(([id]) => id > after)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, pageSize);
      const last = next.at(-1);
      if (last === undefined) return;
      yield next.map(([, body]) => body);
      after = last[0];
    }
  }

  async function* allPages(): AsyncGenerator<ChangeBody[]> {
    yield* pages(namespaceRows);
    yield* pages(tokenRows);
    yield* pages(recordRows);
  }

  const source: FakeSource = {
    calls,
    listeners,
    announcing: true,
    epoch: 'first',
    before: () => undefined,
    bend: (changes) => changes,
    state: () => stateAt(head()),
    write(...bodies) {
      for (const body of bodies) {
        const seq = log.length + 1;
        log.push({ at: seq * 1000, cause: 'direct', ...body, seq, owner: null });
      }
      if (source.announcing && bodies.length > 0) for (const listener of listeners) listener(head());
    },
    prune(seq) {
      oldest = seq + 1;
    },
    restore(seq) {
      log = log.slice(0, seq);
    },
    async bounds(): Promise<LogBounds> {
      await called('bounds');
      return { epoch: source.epoch, oldest, head: head() };
    },
    async since(epoch, seq, limit) {
      await called('since');
      if (epoch !== source.epoch) return [];
      return source.bend(log.filter((change) => change.seq > seq && change.seq >= oldest).slice(0, limit));
    },
    async openSnapshot() {
      await called('openSnapshot');
      return { epoch: source.epoch, seq: head(), pages: allPages(), end: () => source.bounds() };
    },
    heardAt: () => heardAt,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return source;
}

function namespaceRows({ namespaces }: MemoryState): [string, ChangeBody][] {
  return [...namespaces].map(([namespace, flags]) => [
    namespace,
    {
      type: 'namespace.upserted',
      namespace,
      ...flags,
      recordsCount: 0,
      createdAt: 0,
      updatedAt: 0,
    },
  ]);
}

function tokenRows({ tokens }: MemoryState): [string, ChangeBody][] {
  return [...tokens].map(([digest, token]) => [digest, { type: 'token.minted', digest, ...token }]);
}

function recordRows({ records }: MemoryState): [string, ChangeBody][] {
  return [...records].map(([key, record]) => {
    // The tables have every value.
    assert.notEqual(record, 'withheld');
    const { data, ttlSeconds, expiresAt } = record as HostedRecord;
    const [version, namespace, resource] = key.split('.').reverse() as [string, string, string];
    const text = Buffer.from(data).toString('base64');
    const rest = { contentType: 'text/plain', ttlSeconds, expiresAt };
    return [key, { type: 'record.upserted', key, namespace, resource, version, data: text, ...rest }];
  });
}
