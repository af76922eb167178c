import { bytes, count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import type { Column } from '../../ui/data-table.tsx';
import { Time } from '../../ui/time.tsx';
import type { LiveMarks, MarkKind } from './live-marks.ts';
import type { RecordRow } from './record-pages.ts';
import { keyParts } from './record-rules.ts';
import { typeWord } from './record-value.ts';
import { type InPlace, ValueCell } from './value-cell.tsx';

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

/**
 * @param marks of what others have changed since the page was opened
 * @param inPlace the values that are changed in their places, by the ids of their records
 */
export function recordColumns(
  marks: LiveMarks,
  inPlace: ReadonlyMap<string, InPlace>,
): readonly Column<RecordRow>[] {
  return [
    {
      id: 'key',
      head: t('records.key'),
      isRowHeader: true,
      isSortable: true,
      width: 'minmax(15rem, 4fr)',
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
    {
      id: 'value',
      head: t('records.value'),
      isEditable: true,
      width: 'minmax(13rem, 5fr)',
      cell: (row) => <ValueCell row={row} inPlace={inPlace.get(row.id) ?? null} />,
    },
    ...OTHER_COLUMNS,
  ];
}

const OTHER_COLUMNS: readonly Column<RecordRow>[] = [
  {
    id: 'format',
    head: t('records.format'),
    width: '9rem',
    cell: ({ type, octets, ttl }) => (
      <span title={t('records.formatTitle', { type, octets: bytes(octets), ttl: count(ttl) })}>
        <Badge text={`${typeWord(type)} · ${bytes(octets)}`} />
      </span>
    ),
  },
  {
    id: 'expires',
    head: t('records.expires'),
    width: '7rem',
    cell: ({ expiresAt }) =>
      expiresAt === null ? <span class="dim">{t('records.never')}</span> : <Time at={expiresAt} />,
  },
  {
    id: 'updated',
    head: t('records.updated'),
    isSortable: true,
    width: '8rem',
    cell: ({ updatedAt }) => <Time at={updatedAt} />,
  },
];
