import { bytes, count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Time } from '../../ui/time.tsx';
import type { LiveMarks, MarkKind } from './live-marks.ts';
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

export const MARK_TONES = {
  new: 'good',
  changed: 'warn',
  deleted: 'bad',
  expired: 'bad',
} as const satisfies Record<MarkKind, string>;

/** @param marks of what others have changed since the page was opened */
export function recordColumns(marks: LiveMarks): readonly Column<RecordRow>[] {
  return [
    {
      id: 'key',
      head: t('records.key'),
      isRowHeader: true,
      width: 'minmax(14rem, 3fr)',
      cell: ({ key }) => {
        const kind = marks.get(key)?.kind;
        if (kind === undefined) return <Key of={key} />;
        return (
          <>
            <Badge tone={MARK_TONES[kind]} text={t(`records.mark_${kind}`)} /> <Key of={key} />
          </>
        );
      },
    },
    ...OTHER_COLUMNS,
  ];
}

const OTHER_COLUMNS: readonly Column<RecordRow>[] = [
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
