import { useState } from 'preact/hooks';
import type { DeliveryResource, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { navigate, place, setQuery } from '../../app/router.ts';
import { invalidate, setResource, useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { DeliveriesTab } from './deliveries-tab.tsx';
import { EventsTab } from './events-tab.tsx';
import { MissedButton } from './missed-button.tsx';
import { EditWebhook } from './new-webhook.tsx';
import { ReceiverTab } from './receiver-tab.tsx';
import { SecretTab } from './secret-tab.tsx';
import { SignatureCalculator } from './signature-calculator.tsx';
import { TestAnswer } from './test-answer.tsx';
import { WebhookBanner } from './webhook-banner.tsx';
import { WebhookSummary } from './webhook-summary.tsx';

const POLL_MS = 5_000;
const TABS = ['deliveries', 'events', 'secret', 'receiver', 'calculator'] as const;
type Tab = (typeof TABS)[number];

interface WebhookScreenProps {
  readonly params: Readonly<Record<string, string>>;
}

export function WebhookScreen({ params }: WebhookScreenProps) {
  const id = params.id ?? '';
  const key = `webhook ${id}`;
  const webhook = useResource(key, (signal) => api.webhooks.get(id, { signal }));
  usePoll(webhook.state === 'ready' ? POLL_MS : null, webhook.poll);
  if (webhook.value === undefined) {
    return (
      <Page title={t('webhooks.one')}>
        {webhook.state === 'failed' ? <ErrorNote error={webhook.error} again={webhook.again} /> : <Loading />}
      </Page>
    );
  }
  return <OneWebhook webhook={webhook.value} error={webhook.error} again={webhook.again} />;
}

interface OneProps {
  readonly webhook: WebhookResource;
  /** Why the last read failed; what is shown is from before. */
  readonly error: unknown;
  readonly again: () => void;
}

function OneWebhook({ webhook, error, again }: OneProps) {
  const { id } = webhook;
  const [open, setOpen] = useState<'edit' | 'url' | 'delete' | 'disable' | null>(null);
  const action = useAction();
  const [answer, setAnswer] = useState<DeliveryResource | null>(null);
  const close = (): void => setOpen(null);
  const enable = async (enabled: boolean): Promise<void> => {
    setResource(`webhook ${id}`, await api.webhooks.update(id, { enabled }));
    invalidate('webhooks');
    invalidate(`deliveries ${id}`);
  };
  const sendTest = async (): Promise<void> => {
    setAnswer(null);
    setAnswer(await api.webhooks.test(id));
    invalidate(`deliveries ${id}`);
  };
  const isHealthy = webhook.health.state === 'healthy';
  const test = (
    <Button isBusy={action.running === 'test'} onClick={() => action.run('test', sendTest)}>
      {t('webhooks.test')}
    </Button>
  );
  return (
    <Page
      title={webhook.name}
      actions={
        <>
          {isHealthy ? test : null}
          <Button onClick={() => setOpen('edit')}>{t('webhooks.edit')}</Button>
          {webhook.enabled ? (
            <Button onClick={() => setOpen('disable')}>{t('webhooks.disable')}</Button>
          ) : null}
          <Button tone="quiet" onClick={() => setOpen('delete')}>
            {t('ui.delete')}
          </Button>
        </>
      }
    >
      {action.error === undefined ? null : <ErrorNote error={action.error} />}
      {error === undefined ? null : <ErrorNote error={error} again={again} />}
      <WebhookBanner webhook={webhook}>
        {webhook.enabled ? null : (
          <Button
            tone="primary"
            isBusy={action.running === 'enable'}
            onClick={() => action.run('enable', () => enable(true))}
          >
            {t('webhooks.enable')}
          </Button>
        )}
        {test}
        <Button onClick={() => setOpen('url')}>{t('webhooks.editUrl')}</Button>
        <MissedButton webhook={webhook} />
      </WebhookBanner>
      <TestAnswer delivery={answer} isWaiting={action.running === 'test'} url={webhook.url} />
      <WebhookSummary webhook={webhook} />
      <WebhookTabs webhook={webhook} />
      {open === 'edit' || open === 'url' ? (
        <EditWebhook webhook={webhook} startsAtUrl={open === 'url'} onClose={close} />
      ) : null}
      {open === 'disable' ? (
        <ConfirmDialog
          title={t('webhooks.disableTitle', { name: webhook.name })}
          confirm={t('webhooks.disable')}
          onConfirm={() => enable(false)}
          onClose={close}
        >
          <p>{t('webhooks.disableText')}</p>
        </ConfirmDialog>
      ) : null}
      {open === 'delete' ? (
        <ConfirmDialog
          title={t('webhooks.deleteTitle', { name: webhook.name })}
          onConfirm={async () => {
            await api.webhooks.delete(id);
            invalidate('webhooks');
            invalidate('usage');
            navigate('/webhooks');
          }}
          onClose={close}
        >
          <p>{t('webhooks.deleteText')}</p>
        </ConfirmDialog>
      ) : null}
    </Page>
  );
}

const TAB_TEXTS = {
  deliveries: 'webhooks.deliveries',
  events: 'webhooks.events',
  secret: 'webhooks.secret',
  receiver: 'webhooks.receiver',
  calculator: 'calculator.title',
} as const satisfies Readonly<Record<Tab, string>>;

function WebhookTabs({ webhook }: { readonly webhook: WebhookResource }) {
  const asked = place.value.query.get('tab');
  const current = TABS.find((tab) => tab === asked) ?? 'deliveries';
  return (
    <Tabs
      label={t('webhooks.parts')}
      tabs={TABS.map((tab) => ({ id: tab, text: t(TAB_TEXTS[tab]) }))}
      current={current}
      onChange={(tab) => setQuery({ tab: tab === 'deliveries' ? null : tab, status: null })}
    >
      {current === 'deliveries' ? <DeliveriesTab webhook={webhook} /> : null}
      {current === 'events' ? <EventsTab webhook={webhook} /> : null}
      {current === 'secret' ? <SecretTab webhook={webhook} /> : null}
      {current === 'receiver' ? <ReceiverTab /> : null}
      {current === 'calculator' ? <SignatureCalculator /> : null}
    </Tabs>
  );
}

/** One action at a time: a second click while it runs does nothing. */
function useAction() {
  const [running, setRunning] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  const run = (name: string, act: () => Promise<void>): void => {
    if (running !== null) return;
    setRunning(name);
    setError(undefined);
    act()
      .catch(setError)
      .finally(() => setRunning(null));
  };
  return { running, error, run };
}
