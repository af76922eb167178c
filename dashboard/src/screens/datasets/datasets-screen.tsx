import type { DatasetResource, Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { place, setQuery } from '../../app/router.ts';
import { useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { Time } from '../../ui/time.tsx';
import { DatasetView } from './dataset-view.tsx';

const SHOWN_MAX = 1000;

const COLUMNS: readonly Column<DatasetResource>[] = [
  {
    id: 'slug',
    head: t('datasets.slug'),
    isRowHeader: true,
    width: 'minmax(9rem, 2fr)',
    cell: ({ slug }) => slug,
  },
  { id: 'version', head: t('datasets.version'), width: '7rem', cell: ({ latest }) => latest.version },
  {
    id: 'items',
    head: t('datasets.items'),
    align: 'end',
    width: '7rem',
    cell: ({ latest }) => count(latest.items),
  },
  {
    id: 'license',
    head: t('datasets.license'),
    width: 'minmax(7rem, 1fr)',
    cell: ({ latest }) => latest.license,
  },
  {
    id: 'published',
    head: t('datasets.published'),
    width: '9rem',
    cell: ({ latest }) => <Time at={latest.published_at} />,
  },
];

/** The dataset registry: what it has, who signed it, and what held of an item at a date. */
export function DatasetsScreen() {
  const meta = useMeta();
  return (
    <Page title={t('datasets.title')}>
      {meta.state === 'loading' ? <Loading /> : null}
      {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : null}
      {meta.state === 'ready' ? <Registry meta={meta.value} /> : null}
    </Page>
  );
}

function Registry({ meta }: { meta: Meta }) {
  const isOn = meta.features.datasets;
  const datasets = useResource(isOn ? 'datasets' : null, (signal) =>
    api.datasets.list({ limit: 100, signal }).toArray(SHOWN_MAX),
  );
  const chosen = place.value.query.get('slug');
  if (!isOn) return <EmptyState title={t('datasets.offTitle')} text={t('datasets.offText')} />;
  if (datasets.state === 'loading') return <Loading />;
  if (datasets.state === 'failed') return <ErrorNote error={datasets.error} again={datasets.again} />;
  if (datasets.value.length === 0) {
    return (
      <EmptyState
        title={t('datasets.emptyTitle')}
        text={t('datasets.emptyText')}
        command="uqrp dataset import signed.json --items items.jsonl"
      />
    );
  }
  return (
    <>
      <DataTable
        label={t('datasets.title')}
        columns={COLUMNS}
        rows={datasets.value}
        rowKey={({ slug }) => slug}
        total={datasets.value.length}
        onOpen={({ slug }) => setQuery({ slug, version: null })}
      />
      {chosen === null ? null : (
        <DatasetView
          key={chosen}
          slug={chosen}
          zone={meta.zones[0] ?? ''}
          hasDates={meta.features.datasets_asof}
        />
      )}
    </>
  );
}
