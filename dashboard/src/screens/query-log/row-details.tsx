import type { QueryLogRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime, relative } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Filters } from './filters.ts';
import { durationText } from './row-columns.tsx';
import { TONES } from './time-buckets.ts';

export interface RowDetailsProps {
  readonly row: QueryLogRow;
  readonly onClose: () => void;
  readonly onFilter: (changes: Partial<Filters>) => void;
}

/** All that is known of one query: what it means, and the way to others like it. */
export function RowDetails({ row, onClose, onFilter }: RowDetailsProps) {
  const { namespace, resource, version, status, node, transport } = row;
  const only = (changes: Partial<Filters>, value: string) => (
    <Button
      onClick={() => {
        onClose();
        onFilter(changes);
      }}
    >
      {t('queryLog.only', { value })}
    </Button>
  );
  const facts = [
    [t('queryLog.namespace'), namespace],
    [t('queryLog.resource'), resource ?? t('queryLog.noResource')],
    [t('queryLog.version'), version ?? '–'],
    [t('queryLog.operation'), row.operation],
    [t('queryLog.qtype'), row.qtype],
    [t('queryLog.rcode'), row.rcode],
    [t('queryLog.transport'), transport],
    [t('queryLog.node'), node],
    [
      t('queryLog.duration'),
      row.duration_ms === 0 ? t('queryLog.durationCache') : durationText(row.duration_ms),
    ],
    [t('queryLog.id'), row.id],
  ] as const;
  const records = new URLSearchParams({ namespace, ...(resource === null ? {} : { resource }) });
  return (
    <Dialog title={t('queryLog.details')} place="side" onClose={onClose}>
      <p>
        <Badge text={status} tone={TONES[status]} /> {t(`queryLog.status_${status}`)}
      </p>
      <p>
        <time dateTime={row.timestamp}>{dateTime(row.timestamp)}</time>{' '}
        <span class="dim">{relative(row.timestamp)}</span>
      </p>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="dim">{t('queryLog.never')}</p>
      <div class="actions">
        {only({ status }, status)}
        {only({ namespace }, namespace)}
        {only({ node }, node)}
        {only({ transport }, transport)}
        <a class="button" href={`/records?${records}`}>
          {t(resource === null ? 'queryLog.toNamespace' : 'queryLog.toRecords')}
        </a>
      </div>
    </Dialog>
  );
}
