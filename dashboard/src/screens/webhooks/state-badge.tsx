import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { useMeta } from '../../app/meta.ts';
import { useNow } from '../../data/use-now.ts';
import { milliseconds, percent } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { FAILURES_MAX, restsUntil, stateOf } from './webhook-state.ts';

const WORDS = {
  unproven: ['webhooks.stateUnproven', undefined],
  healthy: ['webhooks.stateHealthy', 'good'],
  failing: ['webhooks.stateFailing', 'bad'],
  resting: ['webhooks.stateResting', 'bad'],
  disabled: ['webhooks.stateDisabled', 'bad'],
} as const;

/** Whether a webhook works, and until when it rests. */
export function StateBadge({ webhook }: { readonly webhook: WebhookResource }) {
  const now = useNow(webhook.health.state === 'failing');
  const until = restsUntil(webhook, now);
  const [text, tone] = WORDS[stateOf(webhook, now)];
  return (
    <>
      <Badge text={t(text)} {...(tone === undefined ? {} : { tone })} />
      {until === null ? null : (
        <span class="dim"> {t('webhooks.restsFor', { seconds: Math.ceil((until - now) / 1000) })}</span>
      )}
    </>
  );
}

/** Failed attempts in a row that disable a webhook. */
export function useFailuresMax(): number {
  return useMeta().value?.limits.webhook_failures ?? FAILURES_MAX;
}

/** How many of the last attempts succeeded, as a bar and a number. */
export function SuccessRate({ webhook }: { readonly webhook: WebhookResource }) {
  const { attempts, succeeded } = webhook.health.recent;
  if (attempts === 0) return <span class="dim">–</span>;
  const share = succeeded / attempts;
  const label = t('webhooks.outcomes', { succeeded, count: attempts });
  return (
    <span class="success-rate" title={label}>
      <span class="success-bar" role="img" aria-label={label}>
        <span class={share === 1 ? 'all' : ''} style={{ width: `${100 * share}%` }} />
      </span>
      {percent(share)}
    </span>
  );
}

/** Milliseconds that 95 of 100 attempts did not exceed. */
export function slowText({ health }: WebhookResource): string {
  const { p95_ms: ms } = health.recent;
  return ms === null ? '–' : milliseconds(ms);
}
