/** Asks control about its log. Every answer is checked, and proves that control was reached now. */
import { LIMITS } from '../../base/limits.ts';
import type { Change, ChangeBody } from '../../protocol/change.ts';
import { untilAnswered } from '../bus/bus.ts';
import { type AnsweredRows, type FeedHead, readAnswer, readRows } from '../message/batch.ts';
import { field } from '../message/fields.ts';
import type { FeedKeyRing } from '../message/keys.ts';
import type { MessageKind } from '../message/message.ts';
import type { Rpc } from '../message/rpc.ts';
import type { LogBounds, Snapshot } from '../ports/change-source.ts';
import { type FeedRefusal, FeedRefusedError } from '../ports/refusal.ts';

interface ControlClientOptions {
  readonly rpc: Pick<Rpc, 'askPlain'>;
  readonly keys: () => FeedKeyRing;
  /** Called with each answer that was right, before it is used. @param isLog false: the head is that of a snapshot */
  readonly onAnswer: (head: FeedHead, isLog: boolean) => void;
  /** An answer that was not used; the call rejects too. */
  readonly onRefused?: (reason: FeedRefusal) => void;
}

/** Calls reject with `BusError`, and with `FeedRefusedError` for an answer that must not be used. */
interface ControlClient {
  bounds(): Promise<LogBounds>;
  /** At most `limit`; fewer when they would not fit into one message. */
  since(
    seq: number,
    limit: number,
  ): Promise<{ readonly head: FeedHead; readonly changes: readonly Change[] }>;
  openSnapshot(): Promise<Snapshot>;
}

const ANSWER_MS = 2_000;

export function createControlClient({ rpc, keys, onAnswer, onRefused }: ControlClientOptions): ControlClient {
  async function counted<T>(run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (error instanceof FeedRefusedError) onRefused?.(error.reason);
      throw error;
    }
  }

  async function ask(kind: MessageKind, clear?: Uint8Array, snapshot?: Uint8Array) {
    const { answer, question } = await rpc.askPlain(kind, ANSWER_MS, clear, snapshot);
    const { head, rows } = readAnswer(answer);
    onAnswer(head, kind !== 'pages' && kind !== 'page');
    return { head, rows, question };
  }

  /** Null when the snapshot has no rows. */
  async function page(
    snapshot: Uint8Array,
    opened: FeedHead,
    from: number,
  ): Promise<{ readonly rows: AnsweredRows; readonly bodies: readonly ChangeBody[] } | null> {
    const { head, rows } = await untilAnswered(() => ask('page', field.u64(from), snapshot));
    const isOfIt = head.epoch === opened.epoch && head.head === opened.head;
    if (isOfIt && rows === null && from === 1) return null;
    if (!isOfIt || rows?.from !== from) throw new FeedRefusedError('chain');
    const bodies = readRows(rows, keys()).map(
      ({ seq: _seq, at: _at, owner: _owner, cause: _cause, ...body }) => body,
    );
    return { rows, bodies };
  }

  async function* pages(snapshot: Uint8Array, opened: FeedHead): AsyncGenerator<readonly ChangeBody[]> {
    for (let from = 1; ; ) {
      const first = from;
      const next = await counted(() => page(snapshot, opened, first));
      if (next === null) return;
      yield next.bodies;
      if (next.rows.isLast) return;
      from = next.rows.to + 1;
    }
  }

  const bounds = (): Promise<LogBounds> => counted(async () => (await ask('bounds')).head);

  return {
    bounds,
    since: (seq, limit) =>
      counted(async () => {
        const most = Math.min(limit, LIMITS.feedBatchChanges);
        const { head, rows } = await ask('since', Buffer.concat([field.u64(seq), field.u32(most)]));
        if (rows === null) return { head, changes: [] };
        if (rows.from <= seq) throw new FeedRefusedError('chain');
        return { head, changes: readRows(rows, keys()) };
      }),
    openSnapshot: () =>
      counted(async () => {
        const { head, question } = await ask('pages');
        return { epoch: head.epoch, seq: head.head, pages: pages(question, head), end: bounds };
      }),
  };
}
