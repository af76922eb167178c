import type { DeliveryResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { useMeta } from '../../app/meta.ts';
import { dateTime, milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { delayText, nextText, type Step, stepOf } from './next-text.ts';

/** Seconds before each attempt, unless the server says others. */
const SCHEDULE = [0, 5, 300, 1800, 7200];

/** The attempts of a delivery as the schedule of the server has them: those made, the next one, and those that are left. */
export function AttemptTimeline({
  delivery,
  now,
}: {
  readonly delivery: DeliveryResource;
  readonly now: number;
}) {
  const schedule = useMeta().value?.webhook_schedule ?? SCHEDULE;
  const isTest = delivery.event === 'webhook.test';
  const delays = isTest ? [0] : schedule;
  return (
    <ol class="attempts" aria-label={t('webhooks.attempts')}>
      {delays.map((delay, at) => {
        const step = stepOf(delivery, at + 1);
        return (
          <li key={at} class={step}>
            <span class="attempt-delay">{delayText(delay)}</span>
            <span>{stepText(delivery, at + 1, step, now)}</span>
          </li>
        );
      })}
    </ol>
  );
}

function stepText(delivery: DeliveryResource, number: number, step: Step, now: number): string {
  const { attempts, last_attempt_at: last, duration_ms: ms, response_code: code } = delivery;
  if (step === 'next') return t('webhooks.attemptNext', { next: nextText(delivery.next_attempt_at, now) });
  if (step === 'later') return t('webhooks.attemptLater');
  if (step === 'never') return t('webhooks.attemptNever');
  // Only the last attempt has its time and its answer.
  if (number < attempts || last === null) return t('webhooks.attemptFailed');
  const took = ms === null ? '' : milliseconds(ms);
  const words =
    step === 'done'
      ? 'webhooks.attemptDone'
      : code === null
        ? 'webhooks.attemptNone'
        : 'webhooks.attemptCode';
  return t(words, { at: dateTime(last), code: code ?? '', took });
}
