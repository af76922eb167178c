import { useState } from 'preact/hooks';
import type { DeliveryResource, DeliveryStatus, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { place, setQuery } from '../../app/router.ts';
import { invalidate } from '../../data/resource.ts';
import { useNow } from '../../data/use-now.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge, Chips } from '../../ui/chips.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { describeError } from '../../ui/describe-error.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { DeliveryDetails } from './delivery-details.tsx';
import { STATUS_TONES } from './delivery-list.ts';
import { errorWords } from './error-words.ts';
import { nextText } from './next-text.ts';
import { useDeliveries } from './use-deliveries.ts';
import { attemptAt, hostOf } from './webhook-state.ts';

const STATUSES: readonly DeliveryStatus[] = ['pending', 'succeeded', 'failed', 'dropped'];

/** What was sent, what waits, and why it failed. */
export function DeliveriesTab({ webhook }: { readonly webhook: WebhookResource }) {
  const asked = place.value.query.get('status');
  const status = STATUSES.find((one) => one === asked) ?? null;
  const deliveries = useDeliveries(webhook.id, status);
  const now = useNow(deliveries.items.some((one) => one.next_attempt_at !== null));
  const [openId, setOpenId] = useState<string | null>(null);
  const [sending, setSending] = useState<string | null>(null);
  const opened = deliveries.items.find(({ id }) => id === openId);
  const redeliver = async (delivery: DeliveryResource): Promise<void> => {
    if (sending !== null) return;
    setSending(delivery.id);
    try {
      deliveries.replace(await api.webhooks.redeliver(webhook.id, delivery.id));
      invalidate(`webhook ${webhook.id}`);
    } catch (error) {
      toast(describeError(error).messages.join(' '), { isError: true });
    }
    deliveries.again();
    setSending(null);
  };
  const redeliverButton = (delivery: DeliveryResource) => (
    <Button
      isDisabled={delivery.status !== 'pending'}
      isBusy={sending === delivery.id}
      title={delivery.status === 'pending' ? t('webhooks.redeliverNow') : t('webhooks.redeliverNot')}
      onClick={() => void redeliver(delivery)}
    >
      {t('webhooks.redeliver')}
    </Button>
  );
  return (
    <>
      <p class="dim">{t('webhooks.history')}</p>
      <Chips
        label={t('webhooks.status')}
        chips={STATUSES.map((one) => ({ value: one, text: one }))}
        chosen={status}
        onChange={(one) => setQuery({ status: one })}
      />
      {deliveries.error === undefined ? null : (
        <ErrorNote error={deliveries.error} again={deliveries.again} />
      )}
      {deliveries.isLoading && deliveries.next === undefined ? <Loading /> : null}
      {deliveries.next === undefined ? null : (
        <DataTable<DeliveryResource>
          label={t('webhooks.deliveries')}
          columns={columnsAt(now, webhook)}
          rows={deliveries.items}
          rowKey={({ id }) => id}
          total={deliveries.next === null ? deliveries.items.length : -1}
          onEnd={deliveries.readOlder}
          onOpen={({ id }) => setOpenId(id)}
        />
      )}
      {deliveries.next !== undefined && deliveries.items.length === 0 ? (
        <p>{status === null ? t('webhooks.noneYet') : t('webhooks.noneOf', { status })}</p>
      ) : null}
      {opened === undefined ? null : (
        <DeliveryDetails
          delivery={{ ...opened, next_attempt_at: attemptAt(opened.next_attempt_at, webhook) }}
          host={hostOf(webhook.url)}
          now={now}
          onClose={() => setOpenId(null)}
        >
          {redeliverButton(opened)}
        </DeliveryDetails>
      )}
    </>
  );
}

function columnsAt(now: number, webhook: WebhookResource): readonly Column<DeliveryResource>[] {
  return [
    {
      id: 'event',
      head: t('webhooks.event'),
      width: 'minmax(9rem, 1fr)',
      isRowHeader: true,
      cell: ({ event }) => event,
    },
    {
      id: 'status',
      head: t('webhooks.status'),
      width: '7rem',
      cell: ({ status }) => <Badge text={status} tone={STATUS_TONES[status]} />,
    },
    {
      id: 'error',
      head: t('webhooks.error'),
      width: 'minmax(9rem, 3fr)',
      cell: ({ error, response_code: code }) => {
        const words = errorWords(error, code, hostOf(webhook.url));
        return words === null ? (
          (code ?? '')
        ) : (
          <span title={`${words.what} ${words.repair}`}>{words.what}</span>
        );
      },
    },
    {
      id: 'attempts',
      head: t('webhooks.attempts'),
      width: '5.5rem',
      align: 'end',
      cell: ({ attempts }) => attempts,
    },
    {
      id: 'next',
      head: t('webhooks.next'),
      width: '8rem',
      cell: ({ next_attempt_at: at }) => nextText(attemptAt(at, webhook), now),
    },
    { id: 'made', head: t('webhooks.when'), width: '7rem', cell: ({ created_at: at }) => <Time at={at} /> },
  ];
}
