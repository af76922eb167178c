import { bytes, count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import type { Column } from '../../ui/data-table.tsx';
import { Time } from '../../ui/time.tsx';
import type { RecordRow } from './record-pages.ts';
import { keyParts } from './record-rules.ts';

/** The key with its params dimmed and its resource bold. */
function Key({ of }: { readonly of: string }) {
  const { params, resource, namespace, version } = keyParts(of);
  return (
    <span class="code" title={of}>
      {params === '' ? null : <span class="dim">{params}.</span>}
      <strong>{resource}</strong>.{namespace}.{version}
    </span>
  );
}

export const RECORD_COLUMNS: readonly Column<RecordRow>[] = [
  {
    id: 'key',
    head: t('records.key'),
    isRowHeader: true,
    width: 'minmax(14rem, 3fr)',
    cell: ({ key }) => <Key of={key} />,
  },
  {
    id: 'type',
    head: t('records.type'),
    width: '9rem',
    cell: ({ type }) => <span title={type}>{type}</span>,
  },
  { id: 'size', head: t('records.size'), align: 'end', width: '6.5rem', cell: ({ octets }) => bytes(octets) },
  { id: 'ttl', head: t('records.ttlHead'), align: 'end', width: '5.5rem', cell: ({ ttl }) => count(ttl) },
  {
    id: 'expires',
    head: t('records.expires'),
    width: '7rem',
    cell: ({ expiresAt }) => (expiresAt === null ? t('records.never') : <Time at={expiresAt} />),
  },
  {
    id: 'updated',
    head: t('records.updated'),
    width: '7rem',
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
];
