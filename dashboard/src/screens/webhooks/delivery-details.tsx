import type { ComponentChildren } from 'preact';
import type { DeliveryResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { dateTime } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { AttemptTimeline } from './attempt-timeline.tsx';
import { STATUS_TONES } from './delivery-list.ts';
import { errorWords } from './error-words.ts';

export interface DeliveryDetailsProps {
  readonly delivery: DeliveryResource;
  /** Of the endpoint. */
  readonly host: string;
  readonly now: number;
  readonly onClose: () => void;
  /** Buttons. */
  readonly children: ComponentChildren;
}

/** One delivery: when it was tried and will be, how the last attempt ended, and what to do about it. */
export function DeliveryDetails({ delivery, host, now, onClose, children }: DeliveryDetailsProps) {
  const words = errorWords(delivery.error, delivery.response_code, host);
  const facts: readonly (readonly [string, ComponentChildren])[] = [
    [t('webhooks.event'), delivery.event],
    [t('webhooks.status'), <Badge text={delivery.status} tone={STATUS_TONES[delivery.status]} />],
    [t('webhooks.seq'), delivery.seq ?? '–'],
    [t('webhooks.made'), dateTime(delivery.created_at)],
    [t('webhooks.id'), <span class="code">{delivery.id}</span>],
  ];
  return (
    <Dialog title={t('webhooks.delivery')} onClose={onClose} place="side">
      {words === null ? null : (
        <div class="note bad">
          <p>{words.what}</p>
          <p>{words.repair}</p>
        </div>
      )}
      <AttemptTimeline delivery={delivery} now={now} />
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
