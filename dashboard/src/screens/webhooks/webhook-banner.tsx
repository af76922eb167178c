import type { ComponentChildren } from 'preact';
import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { useNow } from '../../data/use-now.ts';
import { dateTime } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { FailureIcon, Icon, InfoIcon } from '../../ui/icon.tsx';
import { Time } from '../../ui/time.tsx';
import { errorWords } from './error-words.ts';
import { nextText } from './next-text.ts';
import { useFailuresMax } from './state-badge.tsx';
import { hostOf, restsUntil } from './webhook-state.ts';

export interface WebhookBannerProps {
  readonly webhook: WebhookResource;
  /** Buttons. */
  readonly children: ComponentChildren;
}

/** What is wrong with a webhook in words, since when, and what to do about it. Nothing for one that works. */
export function WebhookBanner({ webhook, children }: WebhookBannerProps) {
  const { health } = webhook;
  if (health.state === 'healthy') return null;
  const isCalm = health.state === 'unproven' || health.disabled_by === 'request';
  const words = errorWords(health.last_error, health.last_response_code, hostOf(webhook.url));
  const failed = health.last_failure_at;
  return (
    <section class={`banner ${isCalm ? '' : 'bad'}`} aria-label={t('webhooks.banner')}>
      <Icon of={isCalm ? InfoIcon : FailureIcon} />
      <div class="banner-body">
        <h2>
          <Headline webhook={webhook} />
        </h2>
        {words === null ? null : (
          <p>
            <strong>{health.state === 'unproven' ? t('webhooks.before', words) : words.what}</strong>{' '}
            {words.repair}
          </p>
        )}
        <Counts webhook={webhook} />
        {health.state === 'disabled' ? <p>{t('webhooks.disabledNote')}</p> : null}
        {failed === null || health.state === 'unproven' ? null : (
          <p class="dim">
            {t('webhooks.lastFailure')} <Time at={failed} />
            {health.last_success_at === null ? null : (
              <>
                {' · '}
                {t('webhooks.lastSuccess')} <Time at={health.last_success_at} />
              </>
            )}
          </p>
        )}
        <div class="actions">{children}</div>
      </div>
    </section>
  );
}

function Headline({ webhook }: { readonly webhook: WebhookResource }) {
  const max = useFailuresMax();
  const { state, failing_since: since, disabled_at, disabled_by, disabled_user: user } = webhook.health;
  const at = disabled_at === null ? '' : dateTime(disabled_at);
  if (state === 'unproven') return <>{t('webhooks.headUnproven')}</>;
  if (state === 'failing')
    return (
      <>{since === null ? t('webhooks.headFails') : t('webhooks.headFailing', { since: dateTime(since) })}</>
    );
  if (disabled_by === 'failures') return <>{t('webhooks.headFailures', { at, max })}</>;
  if (disabled_by === 'tier') return <>{t('webhooks.headTier', { at })}</>;
  if (disabled_by === 'member_left') return <>{t('webhooks.headLeft', { at })}</>;
  if (disabled_by === null) return <>{t('webhooks.headDisabled')}</>;
  const who = user === null ? t('webhooks.byKey') : (user.email ?? t('webhooks.bySomebody'));
  return <>{t('webhooks.headRequest', { at, who })}</>;
}

/** How many attempts failed, and when the next one is. */
function Counts({ webhook }: { readonly webhook: WebhookResource }) {
  const max = useFailuresMax();
  const { failure_count: count, health } = webhook;
  const now = useNow(health.state === 'failing');
  const since = health.failing_since;
  if (health.state === 'failing') {
    const until = restsUntil(webhook, now);
    const next = until === null ? '' : t('webhooks.nextRest', { next: nextText(health.rests_until, now) });
    return (
      <p>
        {t('webhooks.failedOf', { count, max })} {next}
      </p>
    );
  }
  if (health.disabled_by !== 'failures' || since === null) return null;
  return <p>{t('webhooks.failedSince', { since: dateTime(since) })}</p>;
}
