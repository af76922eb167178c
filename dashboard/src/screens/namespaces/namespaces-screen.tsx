import { useRef, useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { createAt } from '../../app/create-at.ts';
import { navigate, place, setQuery } from '../../app/router.ts';
import { type Shortcut, useShortcuts } from '../../app/shortcuts.ts';
import { count } from '../../format/format.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Page } from '../../ui/page.tsx';
import { SearchBox } from '../../ui/search-box.tsx';
import { Time } from '../../ui/time.tsx';
import { toast } from '../../ui/toast.tsx';
import { stateOf, useTokens } from '../tokens/use-tokens.ts';
import { NewNamespaceDialog } from './new-namespace-dialog.tsx';
import { useNamespaces } from './use-namespaces.ts';

const COLUMNS: readonly Column<NamespaceResource>[] = [
  {
    id: 'name',
    head: t('namespaces.name'),
    isRowHeader: true,
    width: 'minmax(10rem, 2fr)',
    cell: ({ name }) => <a href={`/namespaces/${name}`}>{name}</a>,
  },
  {
    id: 'records',
    head: t('namespaces.records'),
    align: 'end',
    width: '7rem',
    cell: ({ records_count }) => count(records_count),
  },
  {
    id: 'tokens',
    head: t('namespaces.liveTokens'),
    align: 'end',
    width: '7rem',
    cell: ({ id }) => <LiveTokens id={id} />,
  },
  { id: 'reads', head: t('namespaces.reads'), width: '11rem', cell: (namespace) => <Reads of={namespace} /> },
  {
    id: 'created',
    head: t('namespaces.created'),
    width: '9rem',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
];

/** Counted for the rows that are in the document only. */
function LiveTokens({ id }: { readonly id: string }) {
  const tokens = useTokens(id);
  if (tokens.state !== 'ready') return <span aria-hidden="true">…</span>;
  return <>{count(tokens.value.filter((token) => stateOf(token, Date.now()) === 'live').length)}</>;
}

export function Reads({ of }: { readonly of: NamespaceResource }) {
  if (of.suspended === true) return <Badge tone="bad" text={t('namespaces.suspended')} />;
  if (of.public_read === true) return <Badge tone="good" text={t('namespaces.publicRead')} />;
  return (
    <span title={t('namespaces.privateText')}>
      <Badge text={t('namespaces.private')} />
    </span>
  );
}

/** What is done less often than to open it. */
function RowMenu({ of: { name } }: { readonly of: NamespaceResource }) {
  const path = `/namespaces/${name}`;
  return (
    <Menu
      label={t('namespaces.actions', { name })}
      isQuiet
      items={[
        { text: t('namespaces.newRecord'), run: () => createAt(path) },
        { text: t('namespaces.newToken'), run: () => createAt(`${path}?tab=tokens`) },
        { text: t('namespaces.settings'), run: () => navigate(`${path}?tab=settings`) },
        { text: t('namespaces.deleteDots'), run: () => navigate(`${path}?tab=danger`), isDanger: true },
      ]}
    />
  );
}

/** `/namespaces` */
export function NamespacesScreen() {
  const namespaces = useNamespaces();
  const [isCreating, setCreating] = useState(false);
  const shortcuts = useRef<Shortcut[]>([{ keys: 'c', text: 'namespaces.new', run: () => setCreating(true) }]);
  useShortcuts(shortcuts.current);
  const search = place.value.query.get('search') ?? '';
  const rows = (namespaces.value ?? []).filter(({ name }) => name.includes(search.trim().toLowerCase()));
  const create = (
    <Button tone="primary" onClick={() => setCreating(true)}>
      {t('namespaces.new')}
    </Button>
  );
  const isEmpty = namespaces.state === 'ready' && namespaces.value.length === 0;
  return (
    <Page title={t('namespaces.title')} actions={isEmpty ? null : create}>
      {namespaces.state === 'loading' ? <Loading /> : null}
      {namespaces.error === undefined ? null : (
        <ErrorNote error={namespaces.error} again={namespaces.again} />
      )}
      {isEmpty ? (
        <EmptyState
          title={t('namespaces.empty')}
          text={t('namespaces.emptyText')}
          command={`${keyedCurl()} -s ${location.origin}/api/v1/namespaces \\\n  -H 'Content-Type: application/json' -d '{"namespace": {"name": "acme"}}'`}
        >
          {create}
        </EmptyState>
      ) : null}
      {namespaces.state === 'ready' && !isEmpty ? (
        <>
          <SearchBox value={search} onSearch={(text) => setQuery({ search: text })} />
          {rows.length === 0 ? (
            <p>
              {t('namespaces.noMatch', { search })}{' '}
              <Button onClick={() => setQuery({ search: null })}>{t('namespaces.clear')}</Button>
            </p>
          ) : (
            <DataTable
              label={t('namespaces.title')}
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              rowName={({ name }) => name}
              actionsWidth="4rem"
              actions={(row) => (row.suspended === true ? null : <RowMenu of={row} />)}
              onOpen={({ name }) => navigate(`/namespaces/${name}`)}
            />
          )}
        </>
      ) : null}
      {isCreating ? (
        <NewNamespaceDialog
          onClose={() => setCreating(false)}
          onCreated={({ name }) => {
            setCreating(false);
            toast(t('namespaces.made', { name }));
          }}
        />
      ) : null}
    </Page>
  );
}
