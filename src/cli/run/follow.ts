/** Keeps a program and its copy at the values that the server has. */
import { ApiError } from '../../../sdk/src/uqrp-sdk.ts';
import { InputError } from '../../base/errors.ts';
import { backoffMs } from '../../base/lifecycle/loop.ts';
import { commandFault, isAway } from '../rest.ts';
import { isRefusal, type ValueSource, type Values } from './source.ts';
import type { ValueRecord } from './values.ts';
import type { KeptRecord, ValuesCopy } from './values-copy.ts';

/** Between attempts to reach a server that does not answer, milliseconds. */
const RETRY = { firstMs: 1000, capMs: 30_000 };
/** Changes that come within this time are one: a program is not started again for each of them. Milliseconds. */
const GATHER_MS = 250;

export interface Following {
  readonly source: ValueSource;
  readonly copy: Pick<ValuesCopy, 'save' | 'confirm' | 'remove'>;
  /** Of the feed of changes when the values were read; null: they are those of the copy. */
  readonly cursor: string | null;
  /** What the program runs with. */
  readonly records: readonly ValueRecord[];
  /** What the copy keeps of them; null: they are those of the copy. */
  readonly kept: readonly KeptRecord[] | null;
  /** Ends with the program. */
  readonly signal: AbortSignal;
  /** Gives the program other values. @throws InputError for values that it cannot have */
  readonly take: (records: readonly ValueRecord[]) => Promise<void>;
  readonly say: (line: string) => void;
  /** Resolves after the time, and at once when the signal aborts. */
  readonly pause: (ms: number) => Promise<void>;
}

/** Follows the changes until the signal aborts, or the server refuses. A fault of new values leaves program and copy as they are, and is told. */
export async function follow(following: Following): Promise<void> {
  const { source, copy, signal, say, pause } = following;
  let { cursor, records } = following;
  /** Of the values of now, which the program has; null: it could not have them, or they are not known. */
  let { kept } = following;
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (cursor === null) {
        // The cursor before the records: a change between the two is not missed.
        const next = await source.cursor(signal);
        const values = await acceptedValues(following, records);
        kept = values?.kept ?? null;
        if (values !== null) {
          ({ records } = values);
          copy.save(values.kept);
        }
        cursor = next;
      }
      const { next, isOurs } = await source.changes(cursor, signal);
      failures = 0;
      cursor = next;
      if (isOurs) {
        await pause(GATHER_MS);
        cursor = null;
      } else if (kept !== null) copy.confirm(kept);
    } catch (error) {
      if (signal.aborted) return;
      if (isRefusal(error)) await copy.remove();
      const isLost = error instanceof ApiError && error.status === 410;
      if (isLost) cursor = null;
      else if (!isAway(error)) {
        say(`changes are not followed any more: ${(commandFault(error, source.origin) as Error).message}`);
        return;
      }
      failures++;
      await pause(backoffMs(failures, RETRY));
    }
  }
}

/** The values of now, when the program has them; null: it cannot have them, which is told. @param present what it runs with */
async function acceptedValues(
  { source, signal, take, say }: Following,
  present: readonly ValueRecord[],
): Promise<Values | null> {
  try {
    const values = await source.read(signal);
    if (isSame(values.records, present)) return values;
    // Nobody empties a namespace on purpose under a program that runs from it.
    if (values.records.length === 0) throw new InputError('there are no records any more');
    await take(values.records);
    return values;
  } catch (error) {
    if (isRefusal(error) || !(error instanceof InputError)) throw error;
    say(`the program keeps its values: ${error.message}`);
    return null;
  }
}

function isSame(one: readonly ValueRecord[], other: readonly ValueRecord[]): boolean {
  if (one.length !== other.length) return false;
  const present = new Map(other.map(({ key, data }) => [key, data]));
  return one.every(({ key, data }) => present.get(key)?.equals(data) === true);
}
