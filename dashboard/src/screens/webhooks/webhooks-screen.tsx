import { useRef, useState } from 'preact/hooks';
import type { WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { navigate } from '../../app/router.ts';
import { type Shortcut, useShortcuts } from '../../app/shortcuts.ts';
import { useResource } from '../../data/resource.ts';
import { usePoll } from '../../data/use-poll.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { makerText } from '../../ui/maker.ts';
import { Page } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { Time } from '../../ui/time.tsx';
import { NewWebhook } from './new-webhook.tsx';
import { NoTier } from './no-tier.tsx';
import { StateBadge, SuccessRate, slowText } from './state-badge.tsx';
import { webhooksInOrder } from './webhook-state.ts';

const POLL_MS = 10_000;

const COLUMNS: readonly Column<WebhookResource>[] = [
  {
    id: 'name',
    head: t('webhooks.name'),
    isRowHeader: true,
    width: 'minmax(8rem, 1fr)',
    cell: ({ id, name }) => <a href={`/webhooks/${id}`}>{name}</a>,
  },
  {
    id: 'url',
    head: t('webhooks.url'),
    width: 'minmax(9rem, 2fr)',
    cell: ({ url }) => <span title={url}>{url}</span>,
  },
  {
    id: 'state',
    head: t('webhooks.state'),
    width: '9.5rem',
    cell: (webhook) => <StateBadge webhook={webhook} />,
  },
  {
    id: 'outcomes',
    head: t('webhooks.succeeded'),
    width: '9rem',
    cell: (webhook) => <SuccessRate webhook={webhook} />,
  },
  { id: 'slow', head: t('webhooks.slow'), width: '6rem', align: 'end', cell: slowText },
  {
    id: 'last',
    head: t('webhooks.triggered'),
    width: '8rem',
    cell: ({ last_triggered_at: last }) => (last === null ? t('webhooks.never') : <Time at={last} />),
  },
  { id: 'by', head: t('ui.by'), width: '10rem', cell: makerText },
];

export function WebhooksScreen() {
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }));
  const usage = useResource('usage', (signal) => api.usage({ signal }));
  const [isMaking, setMaking] = useState(false);
  const shortcuts = useRef<Shortcut[]>([{ keys: 'c', text: 'webhooks.new', run: () => setMaking(true) }]);
  useShortcuts(shortcuts.current);
  usePoll(POLL_MS, webhooks.poll);
  const list = webhooks.value ?? [];
  const [typed, setTyped] = useState('');
  const shown = webhooksInOrder(list, typed);
  const limit = usage.value?.webhooks.limit;
  const make = (
    <Button tone="primary" onClick={() => setMaking(true)} isDisabled={limit === 0}>
      {t('webhooks.new')}
    </Button>
  );
  return (
    <Page
      title={t('webhooks.title')}
      actions={
        <>
          {make}
          <CopyAs variants={commandsOf()} />
        </>
      }
    >
      {limit === 0 ? <NoTier /> : null}
      {webhooks.error === undefined ? null : <ErrorNote error={webhooks.error} again={webhooks.again} />}
      {webhooks.state === 'loading' ? <Loading /> : null}
      {webhooks.state === 'ready' && list.length === 0 && limit !== 0 ? (
        <EmptyState title={t('webhooks.emptyTitle')} text={t('webhooks.emptyText')} command={curlCreate()} />
      ) : null}
      {list.length > 0 ? (
        <>
          <SearchBox value={typed} onSearch={setTyped} />
          {shown.length === 0 ? <p>{t('webhooks.noMatch')}</p> : null}
          <DataTable<WebhookResource>
            label={t('webhooks.title')}
            columns={COLUMNS}
            rows={shown}
            rowKey={({ id }) => id}
            onOpen={({ id }) => navigate(`/webhooks/${id}`)}
          />
          <p class="dim">{limit === undefined ? '' : tn('webhooks.count', list.length, { limit })}</p>
        </>
      ) : null}
      {isMaking && limit !== 0 ? <NewWebhook onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function curlCreate(): string {
  return `${keyedCurl()} -s ${location.origin}/api/v1/webhooks \\
  -H 'Content-Type: application/json' \\
  -d '{"webhook": {"name": "mirror", "url": "https://hooks.example.com/uqrp", "events": ["record.upserted"]}}'`;
}

function commandsOf(): readonly { name: string; code: string }[] {
  return [
    { name: t('webhooks.curlList'), code: `${keyedCurl()} -s ${location.origin}/api/v1/webhooks` },
    { name: t('webhooks.curlNew'), code: curlCreate() },
  ];
}
