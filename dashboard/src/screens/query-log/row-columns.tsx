import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime, dayTime, milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { TONES } from './time-buckets.ts';

/** Whole milliseconds are all that a node tells. */
export function durationText(ms: number): string {
  return ms === 0 ? t('queryLog.belowMs') : milliseconds(ms);
}

export const COLUMNS: readonly Column<QueryLogRow>[] = [
  {
    id: 'time',
    head: t('queryLog.time'),
    width: '9.5rem',
    isRowHeader: true,
    cell: (row) => (
      <time dateTime={row.timestamp} title={dateTime(row.timestamp)}>
        {dayTime(row.timestamp)}
      </time>
    ),
  },
  {
    id: 'status',
    head: t('queryLog.status'),
    width: '5.5rem',
    cell: ({ status }) => <Badge text={status} tone={TONES[status]} />,
  },
  {
    id: 'namespace',
    head: t('queryLog.namespace'),
    width: 'minmax(6rem, 1fr)',
    cell: (row) => row.namespace,
  },
  {
    id: 'resource',
    head: t('queryLog.resource'),
    width: 'minmax(6rem, 2fr)',
    cell: ({ resource, version }) =>
      resource === null ? (
        <span class="dim" title={t('queryLog.noResource')}>
          –
        </span>
      ) : (
        `${resource} ${version ?? ''}`
      ),
  },
  { id: 'operation', head: t('queryLog.operation'), width: '5.5rem', cell: (row) => row.operation },
  { id: 'qtype', head: t('queryLog.qtype'), width: '4rem', cell: (row) => row.qtype },
  { id: 'rcode', head: t('queryLog.rcode'), width: '6.5rem', cell: (row) => row.rcode },
  { id: 'transport', head: t('queryLog.transport'), width: '5.5rem', cell: (row) => row.transport },
  { id: 'node', head: t('queryLog.node'), width: 'minmax(4rem, 1fr)', cell: (row) => row.node },
  {
    id: 'duration',
    head: t('queryLog.duration'),
    width: '5.5rem',
    align: 'end',
    cell: (row) => durationText(row.duration_ms),
  },
];
