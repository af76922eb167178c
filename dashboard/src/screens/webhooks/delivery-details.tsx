import type { ComponentChildren } from 'preact';
import type { DeliveryResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime, milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { errorWords } from './error-words.ts';
import { nextText } from './next-text.ts';
import { STATUS_TONES } from './status-tones.ts';

export interface DeliveryDetailsProps {
  readonly delivery: DeliveryResource;
  readonly now: number;
  readonly onClose: () => void;
  /** Buttons. */
  readonly children: ComponentChildren;
}

/** One delivery: when it was tried, how the last attempt ended, and what to do about it. */
export function DeliveryDetails({ delivery, now, onClose, children }: DeliveryDetailsProps) {
  const words = errorWords(delivery);
  const { last_attempt_at: last, duration_ms: ms, response_code: code } = delivery;
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    [t('webhooks.id'), <span class="code">{delivery.id}</span>],
    [t('webhooks.event'), delivery.event],
    ['seq', delivery.seq ?? '–'],
    [t('webhooks.status'), <Badge text={delivery.status} tone={STATUS_TONES[delivery.status]} />],
    [t('webhooks.made'), dateTime(delivery.created_at)],
    [t('webhooks.attempts'), delivery.attempts],
    [t('webhooks.lastAttempt'), last === null ? '–' : dateTime(last)],
    [t('webhooks.response'), code ?? '–'],
    [t('webhooks.duration'), ms === null ? '–' : milliseconds(ms)],
    [t('webhooks.next'), nextText(delivery.next_attempt_at, now)],
  ];
  return (
    <Dialog title={t('webhooks.delivery')} onClose={onClose} place="side">
      {words === null ? null : (
        <div class="note bad">
          <p>{words.what}</p>
          <p>{words.repair}</p>
        </div>
      )}
      <dl class="webhook-facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {delivery.status === 'pending' ? null : <p class="dim">{t('webhooks.redeliverNot')}</p>}
      <div class="actions">{children}</div>
    </Dialog>
  );
}
