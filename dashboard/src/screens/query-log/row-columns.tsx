import type { QueryLogRow, QueryStatus } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime, milliseconds, time } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import type { Column } from '../../ui/data-table.tsx';

const TONES: Readonly<Record<QueryStatus, 'good' | 'bad' | 'warn' | undefined>> = {
  hit: 'good',
  miss: undefined,
  expired: 'warn',
  error: 'bad',
  refused: 'warn',
};

export const COLUMNS: readonly Column<QueryLogRow>[] = [
  {
    id: 'time',
    head: t('queryLog.time'),
    width: '7rem',
    isRowHeader: true,
    cell: (row) => (
      <time dateTime={row.timestamp} title={dateTime(row.timestamp)}>
        {time(row.timestamp)}
      </time>
    ),
  },
  {
    id: 'status',
    head: t('queryLog.status'),
    width: '6rem',
    cell: ({ status }) => {
      const tone = TONES[status];
      return <Badge text={status} {...(tone === undefined ? {} : { tone })} />;
    },
  },
  {
    id: 'namespace',
    head: t('queryLog.namespace'),
    width: 'minmax(7rem, 1fr)',
    cell: (row) => row.namespace,
  },
  {
    id: 'resource',
    head: t('queryLog.resource'),
    width: 'minmax(7rem, 2fr)',
    cell: ({ resource, version }) =>
      resource === null ? (
        <span class="dim" title={t('queryLog.noResource')}>
          –
        </span>
      ) : (
        `${resource} ${version ?? ''}`
      ),
  },
  { id: 'operation', head: t('queryLog.operation'), width: '6.5rem', cell: (row) => row.operation },
  { id: 'qtype', head: t('queryLog.qtype'), width: '4rem', cell: (row) => row.qtype },
  { id: 'rcode', head: t('queryLog.rcode'), width: '6.5rem', cell: (row) => row.rcode },
  { id: 'transport', head: t('queryLog.transport'), width: '6.5rem', cell: (row) => row.transport },
  { id: 'node', head: t('queryLog.node'), width: 'minmax(5rem, 1fr)', cell: (row) => row.node },
  {
    id: 'duration',
    head: t('queryLog.duration'),
    width: '7rem',
    align: 'end',
    cell: (row) => milliseconds(row.duration_ms),
  },
];
