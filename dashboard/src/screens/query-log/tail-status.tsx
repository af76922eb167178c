import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { describeError } from '../../ui/describe-error.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Icon, RefreshIcon } from '../../ui/icon.tsx';
import type { Log } from './use-log.ts';
import { useSeconds } from './use-seconds.ts';

const WORDS = {
  off: 'queryLog.phaseOff',
  connecting: 'queryLog.phaseConnecting',
  live: 'queryLog.phaseLive',
  waiting: 'queryLog.phaseWaiting',
  ended: 'queryLog.phaseEnded',
  failed: 'queryLog.phaseFailed',
} as const;

/** What the stream does, how fast rows come, and what is missing. */
export function TailStatus({ log, onRefresh }: { readonly log: Log; readonly onRefresh: () => void }) {
  const { phase, tailError, skipped, hasGap } = log;
  useSeconds(phase === 'live');
  const rate = log.perSecond();
  // An error of a connection that is tried again says why: too many streams, or no server.
  const why =
    phase === 'waiting' && tailError !== null ? ` ${describeError(tailError).messages.join(' ')}` : '';
  return (
    <>
      <div class="bar log-status">
        <p role="status">
          {t(WORDS[phase])}
          {why}
        </p>
        {phase === 'off' ? (
          <Button onClick={onRefresh}>
            <Icon of={RefreshIcon} />
            {t('queryLog.refresh')}
          </Button>
        ) : null}
        {phase === 'live' ? (
          <p class="dim">{t('queryLog.rate', { rate: rate < 10 ? rate.toFixed(1) : count(rate) })}</p>
        ) : null}
      </div>
      {phase === 'failed' ? <ErrorNote error={tailError} again={log.restart} /> : null}
      {skipped > 0 || hasGap ? (
        <div class="note warn">
          <p role="status">{hasGap ? t('queryLog.gap') : tn('queryLog.skipped', skipped)}</p>
          <div class="actions">
            <Button onClick={log.reload}>{t('queryLog.reload')}</Button>
          </div>
        </div>
      ) : null}
    </>
  );
}
