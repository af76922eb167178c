import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { navigate, place, setQuery } from '../../app/router.ts';
import { useFeed } from '../../data/feed.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { DangerTab } from './danger-tab.tsx';
import { Reads } from './namespaces-screen.tsx';
import { SuspendedNote } from './suspended-note.tsx';
import { useNamespaces } from './use-namespaces.ts';

const TABS = [
  { id: 'records', text: t('namespaces.tabRecords') },
  { id: 'changes', text: t('changes.title') },
  { id: 'tokens', text: t('namespaces.tabTokens') },
  { id: 'webhooks', text: t('namespaces.tabWebhooks') },
  { id: 'settings', text: t('namespaces.tabSettings') },
  { id: 'danger', text: t('namespaces.tabDanger') },
] as const;

const RecordsView = lazy(async () => (await import('../records/records-view.tsx')).RecordsView);
const ChangesTab = lazy(async () => (await import('./changes-tab.tsx')).ChangesTab);
const TokensTab = lazy(async () => (await import('../tokens/tokens-tab.tsx')).TokensTab);
const SettingsTab = lazy(async () => (await import('./settings-tab.tsx')).SettingsTab);

export interface NamespaceScreenProps {
  readonly params: Readonly<Record<string, string>>;
}

/** `/namespaces/NAME` */
export function NamespaceScreen({ params }: NamespaceScreenProps) {
  const name = params.name ?? '';
  const namespaces = useNamespaces();
  const found = namespaces.value?.find((namespace) => namespace.name === name);
  if (found === undefined) {
    return (
      <Page title={name}>
        {namespaces.state === 'loading' ? <Loading /> : null}
        {namespaces.error === undefined ? null : (
          <ErrorNote error={namespaces.error} again={namespaces.again} />
        )}
        {namespaces.state === 'ready' ? (
          <EmptyState title={t('namespaces.none', { name })} text={t('namespaces.noneText')}>
            <a class="button" href="/namespaces">
              {t('namespaces.all')}
            </a>
          </EmptyState>
        ) : null}
      </Page>
    );
  }
  // The server refuses what these two do.
  const tabs = TABS.filter(({ id }) => found.suspended !== true || (id !== 'settings' && id !== 'danger'));
  const tab = tabs.find(({ id }) => id === place.value.query.get('tab'))?.id ?? 'records';
  return (
    <Page title={name} actions={<Reads of={found} />}>
      <Following namespace={found.name} />
      <SuspendedNote namespace={found} />
      <Tabs
        label={t('namespaces.tabs')}
        tabs={tabs}
        current={tab}
        onChange={(id) => setQuery({ tab: id === 'records' ? null : id })}
      >
        {tab === 'records' ? <RecordsView key={found.id} namespace={found.name} /> : null}
        {tab === 'changes' ? <ChangesTab key={found.id} namespace={found} /> : null}
        {tab === 'tokens' ? <TokensTab namespace={found} /> : null}
        {tab === 'webhooks' ? <WebhooksTab namespace={found} /> : null}
        {tab === 'settings' ? <SettingsTab key={found.id} namespace={found} /> : null}
        {tab === 'danger' ? (
          <DangerTab namespace={found} onDeleted={() => navigate('/namespaces', { replace: true })} />
        ) : null}
      </Tabs>
    </Page>
  );
}

/** Changes are followed while any tab is shown: the tab that lists them has all since the page was opened. */
function Following({ namespace }: { readonly namespace: string }) {
  useFeed(namespace);
  return null;
}

function WebhooksTab({ namespace }: { readonly namespace: NamespaceResource }) {
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }));
  if (webhooks.state === 'loading') return <Loading />;
  if (webhooks.state === 'failed') return <ErrorNote error={webhooks.error} again={webhooks.again} />;
  const seeing = webhooks.value.filter(({ scopes }) =>
    scopes.namespaces.length === 0 ? true : scopes.namespaces.includes(namespace.name),
  );
  if (seeing.length === 0) {
    return (
      <EmptyState
        title={t('namespaces.noWebhooks', { name: namespace.name })}
        text={t('namespaces.noWebhooksText')}
      >
        <a class="button" href="/webhooks">
          {t('namespaces.toWebhooks')}
        </a>
      </EmptyState>
    );
  }
  return (
    <ul class="stack plain">
      {seeing.map((webhook) => (
        <li key={webhook.id} class="card">
          <a href={`/webhooks/${webhook.id}`}>{webhook.name}</a>{' '}
          {webhook.enabled ? null : <Badge tone="bad" text={t('namespaces.disabled')} />}
          <p class="dim">
            {t(webhook.scopes.namespaces.length === 0 ? 'namespaces.seesAll' : 'namespaces.seesThis')}
            {' · '}
            {webhook.events.join(', ')}
          </p>
        </li>
      ))}
    </ul>
  );
}
