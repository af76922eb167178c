import { useRef, useState } from 'preact/hooks';
import type { ApiKeyResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useIsOwner } from '../../app/session.ts';
import { type Shortcut, useShortcuts } from '../../app/shortcuts.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { Time } from '../../ui/time.tsx';
import { hasEnded, keyWords, operationWords } from './key-words.ts';
import { NewKey } from './new-key.tsx';

const COLUMNS: readonly Column<ApiKeyResource>[] = [
  {
    id: 'name',
    head: t('apiKeys.name'),
    width: 'minmax(8rem, 1fr)',
    isRowHeader: true,
    cell: ({ name, scopes }) => <span title={keyWords(scopes).join(' ')}>{name}</span>,
  },
  {
    id: 'operations',
    head: t('apiKeys.operations'),
    width: '10rem',
    cell: ({ scopes }) => operationWords(scopes.operations),
  },
  {
    id: 'namespaces',
    head: t('apiKeys.namespaces'),
    width: 'minmax(8rem, 1fr)',
    cell: ({ scopes: { namespaces } }) =>
      namespaces.length === 0 ? (
        t('apiKeys.all')
      ) : (
        <span title={namespaces.join(', ')}>{namespaces.join(', ')}</span>
      ),
  },
  {
    id: 'used',
    head: t('apiKeys.lastUsed'),
    width: '9rem',
    cell: ({ last_used_at: at }) => (at === null ? t('apiKeys.unused') : <Time at={at} />),
  },
  {
    id: 'ends',
    head: t('apiKeys.ends'),
    width: '9rem',
    cell: (key) => {
      if (key.expires_at === null) return t('apiKeys.never');
      return hasEnded(key, Date.now()) ? (
        <Badge text={t('apiKeys.ended')} tone="bad" />
      ) : (
        <Time at={key.expires_at} />
      );
    },
  },
];

const NO_SHORTCUTS: readonly Shortcut[] = [];

export function ApiKeysScreen() {
  const keys = useResource('api-keys', (signal) => api.apiKeys.list({ signal }));
  const [isMaking, setMaking] = useState(false);
  const [revoking, setRevoking] = useState<ApiKeyResource | null>(null);
  const shortcuts = useRef<Shortcut[]>([{ keys: 'c', text: 'apiKeys.new', run: () => setMaking(true) }]);
  const isOwner = useIsOwner();
  useShortcuts(isOwner ? shortcuts.current : NO_SHORTCUTS);
  const list = keys.value ?? [];
  const [typed, setTyped] = useState('');
  const wanted = typed.trim().toLowerCase();
  const shown = list.filter(({ name, scopes }) =>
    [name, ...scopes.namespaces].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <Page
      title={t('apiKeys.title')}
      actions={
        <>
          {isOwner ? (
            <Button tone="primary" onClick={() => setMaking(true)}>
              {t('apiKeys.new')}
            </Button>
          ) : null}
          <CopyAs variants={[{ name: 'curl', code: curlList() }]} />
        </>
      }
    >
      <p class="dim">{t(isOwner ? 'apiKeys.intro' : 'apiKeys.ownersOnly')}</p>
      {keys.error === undefined ? null : <ErrorNote error={keys.error} again={keys.again} />}
      {keys.state === 'loading' ? <Loading /> : null}
      {keys.state === 'ready' && list.length === 0 ? (
        <EmptyState
          title={t('apiKeys.emptyTitle')}
          text={t('apiKeys.emptyText')}
          {...(isOwner && { command: `${OWN_TOKEN}\n${curlCreate()}` })}
        />
      ) : null}
      {list.length > 0 ? (
        <>
          <SearchBox value={typed} onSearch={setTyped} />
          {shown.length === 0 ? <p>{t('apiKeys.noMatch')}</p> : null}
          <DataTable<ApiKeyResource>
            label={t('apiKeys.title')}
            columns={COLUMNS}
            rows={shown}
            rowKey={({ id }) => id}
            {...(isOwner && {
              actions: (key: ApiKeyResource) => (
                <Button tone="quiet" onClick={() => setRevoking(key)}>
                  {t('apiKeys.revoke')}
                </Button>
              ),
              actionsWidth: '7rem',
            })}
          />
          <p class="dim">{tn('apiKeys.count', list.length)}</p>
        </>
      ) : null}
      <WhyForbidden />
      {isMaking ? <NewKey onClose={() => setMaking(false)} /> : null}
      {revoking === null ? null : (
        <ConfirmDialog
          title={t('apiKeys.revokeTitle', { name: revoking.name })}
          confirm={t('apiKeys.revoke')}
          onConfirm={async () => {
            await api.apiKeys.revoke(revoking.id);
            invalidate('api-keys');
            invalidate('usage');
          }}
          onClose={() => setRevoking(null)}
        >
          <p>{t('apiKeys.revokeText')}</p>
        </ConfirmDialog>
      )}
    </Page>
  );
}

const REASONS = [
  'apiKeys.forbiddenOperation',
  'apiKeys.forbiddenNamespace',
  'apiKeys.forbiddenNew',
  'apiKeys.forbiddenAccount',
  'apiKeys.forbiddenSuspended',
] as const;

/** What a program is told that has a key, and is refused all the same. */
function WhyForbidden() {
  return (
    <details class="card">
      <summary>{t('apiKeys.forbidden')}</summary>
      <ul>
        {REASONS.map((reason) => (
          <li key={reason}>{t(reason)}</li>
        ))}
      </ul>
    </details>
  );
}

/** No key can make keys. */
const OWN_TOKEN = 'UQRP_TOKEN=$(uqrp user token EMAIL)';

function curlList(): string {
  return `${keyedCurl()} -s ${location.origin}/api/v1/api_keys`;
}

function curlCreate(): string {
  return `${keyedCurl()} -s ${location.origin}/api/v1/api_keys \\
  -H 'Content-Type: application/json' \\
  -d '{"api_key": {"name": "ci", "scopes": {"operations": ["write"]}}}'`;
}
