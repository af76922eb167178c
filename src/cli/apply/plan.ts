import { LIMITS } from '../../base/limits.ts';
import { isPlainText } from '../../protocol/query/envelope.ts';

/** What must change so that a namespace holds the wanted records. Pure: it reads and writes nothing. */

export interface WantedRecord {
  readonly key: string;
  readonly data: Buffer;
  readonly contentType: string;
  /** Whether DNS answers carry it in plain text; null: as they do now, and else in Base64. */
  readonly plain: boolean | null;
  readonly ttlSeconds: number;
  /** Seconds from the write on; null: it never expires. */
  readonly expiresIn: number | null;
  /** `data` is what is encrypted before it is written. */
  readonly isEncrypted?: boolean;
}

export interface PresentRecord {
  readonly key: string;
  readonly data: Buffer;
  readonly contentType: string;
  readonly plain: boolean;
  readonly ttlSeconds: number;
  readonly expires: boolean;
  /** As the API wrote it: the condition of the write. Null where the store is written directly. */
  readonly updatedAt: string | null;
  /** `data` is what was encrypted. */
  readonly isEncrypted?: boolean;
  /** When an encrypted value was written, in milliseconds. */
  readonly writtenAt?: number | null;
}

export type Step =
  | { readonly kind: 'new'; readonly key: string; readonly wanted: WantedRecord }
  | {
      readonly kind: 'changed';
      readonly key: string;
      readonly wanted: WantedRecord;
      readonly present: PresentRecord;
    }
  | { readonly kind: 'deleted'; readonly key: string; readonly present: PresentRecord };

export interface Plan {
  /** In order of key. */
  readonly steps: readonly Step[];
  readonly unchanged: number;
  /** Of the present records that a deletion may touch. */
  readonly prunable: number;
}

interface PlanOptions {
  /** Whether what is not wanted is deleted: records without expiry, of resources and versions that have a wanted record. */
  readonly prune: boolean;
}

/** @param wanted no key twice */
export function planOf(
  wanted: readonly WantedRecord[],
  present: readonly PresentRecord[],
  { prune }: PlanOptions,
): Plan {
  const have = new Map(present.map((record) => [record.key, record]));
  const want = new Set(wanted.map(({ key }) => key));
  const kept = new Set(wanted.map(({ key }) => groupOf(key)));
  const steps: Step[] = [];
  let unchanged = 0;
  for (const record of wanted) {
    const old = have.get(record.key);
    if (old === undefined) steps.push({ kind: 'new', key: record.key, wanted: record });
    else if (isSame(record, old)) unchanged++;
    else steps.push({ kind: 'changed', key: record.key, wanted: record, present: old });
  }
  const prunable = present.filter(({ key, expires }) => !expires && kept.has(groupOf(key)));
  if (prune) {
    for (const record of prunable) {
      if (!want.has(record.key)) steps.push({ kind: 'deleted', key: record.key, present: record });
    }
  }
  steps.sort((a, b) => (a.key < b.key ? -1 : 1));
  return { steps, unchanged, prunable: prunable.length };
}

/** Resource, namespace and version: the last three labels. */
function groupOf(key: string): string {
  return key.split('.').slice(-3).join('.');
}

/** Where the settings say nothing it stays as it is, as long as the data may be plain text. An encrypted value never is. */
function isPlain({ plain, data, isEncrypted }: WantedRecord, present: PresentRecord | null): boolean {
  return isEncrypted !== true && (plain ?? (present?.plain === true && isPlainText(data)));
}

/** An expiry that both have counts as the same: the stored one is a time, the wanted one a span. */
function isSame(wanted: WantedRecord, present: PresentRecord): boolean {
  return (
    wanted.data.equals(present.data) &&
    (wanted.isEncrypted ?? false) === (present.isEncrypted ?? false) &&
    wanted.contentType === present.contentType &&
    isPlain(wanted, present) === present.plain &&
    wanted.ttlSeconds === present.ttlSeconds &&
    (wanted.expiresIn !== null) === present.expires
  );
}

/** @param max option --max-deletes. @returns why the plan deletes too much; null: it does not */
export function tooManyDeletions({ steps, prunable }: Plan, max: number | null): string | null {
  const count = steps.filter(({ kind }) => kind === 'deleted').length;
  if (max !== null) {
    return count > max ? `${count} records would be deleted, and --max-deletes allows ${max}` : null;
  }
  const free = Math.max(LIMITS.applyFreeDeletions, (prunable * LIMITS.applyFreePercent) / 100);
  if (count <= free) return null;
  return `${count} of ${prunable} records would be deleted: allow it with --max-deletes ${count}`;
}

const SIGNS = { new: '+', changed: '~', deleted: '-' } as const;

function sizes(step: Step): string {
  if (step.kind === 'new') return `${step.wanted.data.length} bytes`;
  if (step.kind === 'deleted') return `${step.present.data.length} bytes`;
  const [before, after] = [step.present.data.length, step.wanted.data.length];
  if (!step.wanted.data.equals(step.present.data)) return `${before} -> ${after} bytes`;
  return `${after} bytes, other settings`;
}

const encodingOf = (plain: boolean): string => (plain ? 'plain' : 'b64');

/** How the settings of a changed record differ. */
export function settingsLines(step: Step): readonly string[] {
  if (step.kind !== 'changed') return [];
  const { present, wanted } = step;
  const expiry = (expires: boolean): string => (expires ? 'an expiry' : 'no expiry');
  const differing = (name: string, before: string | number, after: string | number): string[] =>
    before === after ? [] : [`${name}${before} -> ${after}`];
  const form = ({ isEncrypted = false }: WantedRecord | PresentRecord): string =>
    isEncrypted ? 'encrypted' : 'not encrypted';
  return [
    ...differing('', form(present), form(wanted)),
    ...differing('content_type ', present.contentType, wanted.contentType),
    ...differing('encoding ', encodingOf(present.plain), encodingOf(isPlain(wanted, present))),
    ...differing('ttl_seconds ', present.ttlSeconds, wanted.ttlSeconds),
    ...differing('', expiry(present.expires), expiry(wanted.expiresIn !== null)),
  ];
}

/** The plan for people: a line for each step, then the counts. */
export function planLines(
  plan: Plan,
  below: (step: Step) => readonly string[] = () => [],
): readonly string[] {
  const width = Math.max(0, ...plan.steps.map(({ key }) => key.length));
  const lines = plan.steps.flatMap((step) => [
    `${SIGNS[step.kind]} ${step.key.padEnd(width)}   ${sizes(step)}`,
    ...below(step),
  ]);
  const { changed, added, deleted, unchanged } = countsOf(plan);
  return [...lines, `${changed} changed, ${added} new, ${deleted} to delete, ${unchanged} unchanged`];
}

/** What became of the plan, once it is written. */
export function doneLine(plan: Plan): string {
  const { changed, added, deleted } = countsOf(plan);
  return `Written: ${changed} changed, ${added} new, ${deleted} deleted`;
}

export function countsOf({ steps, unchanged }: Plan) {
  const of = (kind: Step['kind']): number => steps.filter((step) => step.kind === kind).length;
  return { changed: of('changed'), added: of('new'), deleted: of('deleted'), unchanged };
}

/** The items of a bulk write for these steps. Each has the condition that nothing has changed since the plan. */
export function bulkOf(steps: readonly Step[]) {
  return {
    put: steps.flatMap((step) =>
      step.kind === 'deleted'
        ? []
        : [
            {
              key: step.key,
              data: step.wanted.data.toString('base64'),
              content_type: step.wanted.contentType,
              ...(isPlain(step.wanted, step.kind === 'new' ? null : step.present) && {
                encoding: 'plain' as const,
              }),
              ttl_seconds: step.wanted.ttlSeconds,
              ...(step.wanted.expiresIn !== null && { expires_in: step.wanted.expiresIn }),
              if_updated_at: step.kind === 'new' ? null : step.present.updatedAt,
            },
          ],
    ),
    delete: steps.flatMap((step) =>
      step.kind === 'deleted' ? [{ key: step.key, if_updated_at: step.present.updatedAt }] : [],
    ),
  };
}

const LOST_RACE = /\b(records|delete)\[(\d+)\] has changed/;

/** The refusal of a bulk write of `bulkOf`, with the key of the record that has changed in place of its number. */
export function namingKeys(refusal: string, { put, delete: deleted }: ReturnType<typeof bulkOf>): string {
  return refusal.replace(LOST_RACE, (whole, list: string, index: string) => {
    const item = (list === 'records' ? put : deleted)[Number(index)];
    return item === undefined ? whole : `${item.key} has changed`;
  });
}
