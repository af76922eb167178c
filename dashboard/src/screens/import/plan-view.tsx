import { useState } from 'preact/hooks';
import { bytesOf, type ExportedRecord, type Meta, type NewRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { bytes, count, dateTime } from '../../format/format.ts';
import { visibleLine } from '../../format/visible-text.ts';
import { t } from '../../text/text.ts';
import { Badge, Chips } from '../../ui/chips.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import type { Outcome } from '../records/bulk-job.ts';
import { faultText } from '../records/fault-text.ts';
import { utf8 } from '../records/payload.ts';
import { type FaultReason, limitsOf } from '../records/record-rules.ts';
import type { Change, Plan, PlannedRow } from './plan.ts';

const CHANGES: readonly Change[] = ['new', 'changed', 'same', 'refused'];
const TONES = { new: 'good', changed: 'warn', same: undefined, refused: 'bad' } as const;
/** Reasons that only a file can have; the others are those of a record. */
const OWN = [
  'not_object',
  'unknown_field',
  'field_type',
  'no_key',
  'no_data',
  'twice',
  'namespace',
  'line_long',
  'syntax',
  'columns',
] as const;

export function refusalText(reason: string, meta: Meta): string {
  const own = OWN.find((one) => one === reason);
  if (own !== undefined) return t(`importFaults.${own}`);
  return faultText(reason as FaultReason, limitsOf(meta.limits));
}

export interface PlanViewProps {
  readonly plan: Plan;
  readonly meta: Meta;
  /** By key, as the import goes on. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

/** The rows of a file and what becomes of each. */
export function PlanView({ plan, meta, outcomes }: PlanViewProps) {
  const [only, setOnly] = useState<string | null>(null);
  const rows = only === null ? plan.rows : plan.rows.filter(({ change }) => change === only);
  const columns: readonly Column<PlannedRow>[] = [
    { id: 'line', head: t('import.line'), align: 'end', width: '5rem', cell: ({ line }) => count(line) },
    {
      id: 'key',
      head: t('records.key'),
      isRowHeader: true,
      width: 'minmax(14rem, 2fr)',
      cell: ({ key }) => (
        <span class="code" title={key}>
          {key}
        </span>
      ),
    },
    {
      id: 'change',
      head: t('import.change'),
      width: '7rem',
      cell: ({ change }) => {
        const tone = TONES[change];
        return <Badge text={t(`import.change_${change}`)} {...(tone !== undefined && { tone })} />;
      },
    },
    {
      id: 'what',
      head: t('import.what'),
      width: 'minmax(14rem, 2fr)',
      cell: (row) => {
        const text = whatOf(row, outcomes.get(row.key), meta);
        return <span title={text}>{text}</span>;
      },
    },
  ];
  return (
    <section class="stack" aria-label={t('import.plan')}>
      <p role="status">
        {t('import.summary', {
          new: count(plan.counts.new),
          changed: count(plan.counts.changed),
          same: count(plan.counts.same),
          refused: count(plan.counts.refused),
        })}
      </p>
      <Chips
        label={t('import.show')}
        chips={CHANGES.map((change) => ({
          value: change,
          text: t(`import.change_${change}`),
          count: plan.counts[change],
        }))}
        chosen={only}
        onChange={setOnly}
      />
      <DataTable
        label={t('import.plan')}
        columns={columns}
        rows={rows}
        rowKey={({ line }) => String(line)}
        visibleRows={10}
      />
    </section>
  );
}

function whatOf(row: PlannedRow, outcome: Outcome | undefined, meta: Meta): string {
  if (row.refusal !== null) return refusalText(row.refusal, meta);
  if (row.change === 'same') return '';
  if (outcome?.kind === 'refused') return outcome.message;
  if (outcome?.kind === 'done') return t('import.written');
  const { before, record } = row;
  if (before === null || record === null) return record === null ? '' : shownValue('data', record);
  return row.fields
    .map((field) =>
      t('import.from', {
        field: t(`import.field_${field}`),
        before: shownValue(field, before),
        after: shownValue(field, record),
      }),
    )
    .join(', ');
}

/** Characters of a value in a row; its tooltip has as many. */
const VALUE_MAX = 60;

function shownValue(field: keyof ExportedRecord, record: NewRecord | ExportedRecord): string {
  if (field === 'data') {
    const octets = bytesOf({ data: record.data });
    const text = utf8(octets);
    if (text === null) return t('import.binary', { octets: bytes(octets.length) });
    const line = visibleLine(text);
    return line.length > VALUE_MAX ? `${line.slice(0, VALUE_MAX)}…` : line;
  }
  if (field === 'expires_at') {
    const { expires_at: at } = record;
    if (at != null) return dateTime(at);
    const after = 'expires_in' in record ? record.expires_in : undefined;
    return after ? t('import.after', { seconds: count(after) }) : t('records.never');
  }
  const value = record[field];
  return value === undefined ? t('import.default') : String(value);
}
