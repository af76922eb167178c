import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { useMeta } from '../../app/meta.ts';
import { useNow } from '../../data/use-now.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { FAILURES_MAX, restsUntil, stateOf } from './webhook-state.ts';

const WORDS = {
  healthy: ['webhooks.stateHealthy', 'good'],
  failing: ['webhooks.stateFailing', 'warn'],
  resting: ['webhooks.stateResting', 'warn'],
  disabled: ['webhooks.stateDisabled', 'bad'],
} as const;

/** Whether a webhook works, and until when it rests. */
export function StateBadge({ webhook }: { readonly webhook: WebhookResource }) {
  const now = useNow(webhook.enabled && webhook.failure_count > 0);
  const state = stateOf(webhook, now);
  const until = restsUntil(webhook, now);
  const [text, tone] = WORDS[state];
  return (
    <>
      <Badge text={t(text)} tone={tone} />
      {until === null ? null : (
        <span class="dim"> {t('webhooks.restsFor', { seconds: Math.ceil((until - now) / 1000) })}</span>
      )}
    </>
  );
}

/** Failed attempts in a row of those that disable it. */
export function FailureCount({ webhook }: { readonly webhook: WebhookResource }) {
  const limits = useMeta().value?.limits;
  const max = limits?.webhook_failures ?? FAILURES_MAX;
  return <>{t('webhooks.failuresOf', { count: webhook.failure_count, max })}</>;
}
