import { ApiError, type ChangeResource, type NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { place, setQuery } from '../../app/router.ts';
import { type FeedState, useFeed } from '../../data/feed.ts';
import { time } from '../../format/format.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { describeError } from '../../ui/describe-error.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { HistoryPanel } from '../history/history-panel.tsx';

export interface ChangesTabProps {
  readonly namespace: NamespaceResource;
}

/** What changes in the namespace, since the page was opened. */
export function ChangesTab({ namespace }: ChangesTabProps) {
  const { name } = namespace;
  const feed = useFeed(name);
  const history = place.value.query.get('history');
  return (
    <>
      <div class="bar">
        <p role="status">{phaseText(feed)}</p>
        <CopyAs variants={followSnippets(name)} label={t('changes.follow')} />
      </div>
      {feed.phase === 'failed' ? <ErrorNote error={feed.error} again={feed.again} /> : null}
      {feed.hasGap ? <p class="note warn">{t('changes.gap')}</p> : null}
      {feed.changes.length === 0 ? (
        <EmptyState title={t('changes.none', { name })} text={t('changes.noneText')} />
      ) : (
        <DataTable
          label={t('changes.title')}
          columns={columnsOf(namespace)}
          rows={feed.changes}
          rowKey={({ cursor }) => cursor}
        />
      )}
      {history === null ? null : (
        <HistoryPanel of={history} namespaces={[namespace]} onClose={() => setQuery({ history: null })} />
      )}
    </>
  );
}

const PHASES = {
  off: 'changes.off',
  connecting: 'queryLog.phaseConnecting',
  live: 'changes.live',
  waiting: 'queryLog.phaseWaiting',
  ended: 'queryLog.phaseEnded',
  failed: 'queryLog.phaseFailed',
} as const;

function phaseText({ phase, error }: FeedState): string {
  if (phase === 'waiting' && error instanceof ApiError && error.status === 429) return t('changes.tooMany');
  const why = phase === 'waiting' && error !== null ? ` ${describeError(error).messages.join(' ')}` : '';
  return t(PHASES[phase]) + why;
}

const EVENTS = {
  'record.upserted': { text: 'changes.written', tone: 'good' },
  'record.deleted': { text: 'changes.deleted', tone: 'bad' },
  'record.expired': { text: 'changes.expired', tone: 'warn' },
  'namespace.upserted': { text: 'changes.settings', tone: 'good' },
  'namespace.closing': { text: 'changes.closing', tone: 'bad' },
  'namespace.deleted': { text: 'changes.gone', tone: 'bad' },
} as const;

function columnsOf(namespace: NamespaceResource): readonly Column<ChangeResource>[] {
  return [
    {
      id: 'key',
      head: t('records.key'),
      isRowHeader: true,
      width: 'minmax(12rem, 1fr)',
      cell: ({ key }) =>
        key === undefined ? (
          namespace.name
        ) : (
          <a class="code" title={key} href={pathOf(namespace, key)}>
            {key}
          </a>
        ),
    },
    {
      id: 'at',
      head: t('changes.at'),
      width: '7rem',
      cell: ({ at }) => <time dateTime={at}>{time(at)}</time>,
    },
    {
      id: 'event',
      head: t('changes.event'),
      width: '9rem',
      cell: ({ event }) => <Badge tone={EVENTS[event].tone} text={t(EVENTS[event].text)} />,
    },
  ];
}

/** The history of the key where there is one, else the record in the list. */
function pathOf({ name, history }: NamespaceResource, key: string): string {
  const of = encodeURIComponent(key);
  return `/namespaces/${name}?${history === undefined ? `search=${of}` : `tab=changes&history=${of}`}`;
}

/** How a program follows the same changes. */
function followSnippets(name: string): readonly { readonly name: string; readonly code: string }[] {
  const { origin } = location;
  return [
    {
      name: 'curl',
      code: `${keyedCurl()} -N "${origin}/api/v1/changes/stream?namespace=${name}"`,
    },
    {
      name: 'uqrp',
      code: `uqrp watch ${name} --state ${name}.cursor --exec 'echo "$UQRP_EVENT $UQRP_KEY"'`,
    },
    {
      name: 'node',
      code: `import { Uqrp } from 'uqrp-sdk';

const uqrp = new Uqrp({ baseUrl: '${origin}', token: process.env.UQRP_TOKEN });
for await (const change of uqrp.changes({ namespace: '${name}' })) console.log(change.event, change.key);`,
    },
  ];
}
