import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Gauge } from '../../ui/gauge.tsx';
import type { BulkHandle } from './use-bulk-job.ts';

export interface BulkRunProps {
  readonly bulk: BulkHandle;
}

/** Progress of a bulk job, with stop and resume. */
export function BulkRun({ bulk }: BulkRunProps) {
  const { state, progress, pause } = bulk;
  if (progress === null) return null;
  const { done, refused, total, waits } = progress;
  return (
    <div class="stack">
      <Gauge
        label={t('records.progress')}
        value={done + refused}
        max={total}
        text={t('records.progressOf', { done: count(done), total: count(total) })}
        isWork
        {...(refused > 0 && { note: t('records.refusedCount', { refused: count(refused) }) })}
      />
      <p role="status">
        {waits !== null && state === 'running' ? t('records.bulkWaits', { seconds: count(waits) }) : ''}
        {pause?.kind === 'done' ? t('records.bulkDone', { done: count(done) }) : ''}
        {pause?.kind === 'stopped' ? t('records.bulkStopped') : ''}
        {pause?.kind === 'offline' ? t('records.bulkOffline') : ''}
      </p>
      {pause?.kind === 'failed' ? <ErrorNote error={pause.error} /> : null}
      <div class="actions">
        {state === 'running' ? <Button onClick={bulk.stop}>{t('records.stop')}</Button> : null}
        {state === 'ended' && pause?.kind !== 'done' ? (
          <Button tone="primary" onClick={bulk.resume}>
            {t('records.resume')}
          </Button>
        ) : null}
      </div>
    </div>
  );
}
