/** What others have done to records while a page shows them. */
import type { ChangeResource } from '../../../../sdk/src/uqrp-sdk.ts';

export type MarkKind = 'changed' | 'new' | 'deleted' | 'expired';

export interface LiveMark {
  readonly kind: MarkKind;
  /** ISO 8601. */
  readonly at: string;
}

/** By key of the record. */
export type LiveMarks = ReadonlyMap<string, LiveMark>;

/** Of a busy account the oldest marks go. */
const MARKS_MAX = 5000;

const KINDS = {
  'record.upserted': 'changed',
  'record.deleted': 'deleted',
  'record.expired': 'expired',
} as const satisfies Partial<Record<ChangeResource['event'], MarkKind>>;

export interface MarkRules {
  /** Whether the page shows a record of this key. */
  readonly isShown: (key: string) => boolean;
  /** Whether it would show a new one. */
  readonly fits: (key: string) => boolean;
  /** Whether this page has made the change. */
  readonly isOwn: (change: ChangeResource) => boolean;
}

/** Marks with changes added to them, in their order. Own writes take a mark away: who writes has seen what was there. */
export function withChanges(
  marks: LiveMarks,
  changes: readonly ChangeResource[],
  { isShown, fits, isOwn }: MarkRules,
): LiveMarks {
  const next = new Map(marks);
  for (const change of changes) {
    const { event, key, at } = change;
    if (key === undefined) continue;
    const kind = (KINDS as Partial<Record<ChangeResource['event'], MarkKind>>)[event];
    if (kind === undefined) continue;
    if (isOwn(change)) next.delete(key);
    else if (kind !== 'changed') {
      // A record that came and went unseen is no news.
      if (isShown(key)) next.set(key, { kind, at });
      else next.delete(key);
    } else if (isShown(key)) next.set(key, { kind: next.get(key)?.kind === 'new' ? 'new' : 'changed', at });
    else if (fits(key)) next.set(key, { kind: 'new', at });
  }
  for (const key of next.keys()) {
    if (next.size <= MARKS_MAX) break;
    next.delete(key);
  }
  return next;
}

/** How many of each kind there are. */
export function markCounts(marks: LiveMarks): ReadonlyMap<MarkKind, number> {
  const counts = new Map<MarkKind, number>();
  for (const { kind } of marks.values()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}
