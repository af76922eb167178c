import { useState } from 'preact/hooks';
import type { AuditActor, AuditedObject, AuditFilter, AuditRow } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { place, setQuery } from '../../app/router.ts';
import { useIsOwner } from '../../app/session.ts';
import { useListing } from '../../data/use-listing.ts';
import { count, dateTime } from '../../format/format.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { AUDIT_FILTERS, auditFilter, auditTexts } from './audit-filters.ts';
import { objectPath } from './audit-object.ts';
import { AuditFilterBar } from './filter-bar.tsx';

const PAGE = 100;

/** `/audit` */
export function AuditScreen() {
  const isOwner = useIsOwner();
  return (
    <Page title={t('audit.title')}>
      <p class="dim">{t(isOwner ? 'audit.text' : 'audit.ownersOnly')}</p>
      {isOwner ? <AuditLog /> : null}
    </Page>
  );
}

function AuditLog() {
  const texts = auditTexts(place.value.query);
  const filter = auditFilter(texts);
  const { first, items, more, isReading, error } = useListing(
    `audit ${JSON.stringify(filter)}`,
    (signal) => api.audit.list(filter, { limit: PAGE, signal }),
    ({ id }) => id,
  );
  const [opened, setOpened] = useState<AuditRow | null>(null);
  const isFiltered = Object.values(texts).some((text) => text !== '');
  return (
    <>
      <AuditFilterBar texts={texts} onChange={(changes) => setQuery(changes)} />
      <div class="actions">
        {isFiltered ? (
          <Button onClick={() => setQuery(Object.fromEntries(AUDIT_FILTERS.map((name) => [name, null])))}>
            {t('records.clear')}
          </Button>
        ) : null}
        <Button onClick={first.again}>{t('audit.again')}</Button>
        <a class="button" href={`/api/v1/audit/export${queryOf(filter)}`} download="audit.jsonl">
          {t('records.export')}
        </a>
        <CopyAs variants={commands(filter)} />
        <span class="dim" role="status">
          {first.state === 'ready'
            ? tn(more === undefined ? 'audit.count' : 'audit.countMore', items.length)
            : ''}
        </span>
      </div>
      {first.state === 'loading' ? <Loading /> : null}
      {first.error === undefined ? null : <ErrorNote error={first.error} again={first.again} />}
      {first.state === 'ready' && items.length === 0 ? (
        <p>{t(more === undefined ? 'audit.none' : 'audit.noneYet')}</p>
      ) : null}
      {items.length === 0 ? null : (
        <DataTable
          label={t('audit.title')}
          columns={COLUMNS}
          rows={items}
          rowKey={({ id }) => id}
          rowName={({ action }) => action}
          total={more === undefined ? items.length : -1}
          onOpen={setOpened}
          actions={(row) => (
            <Button tone="quiet" label={`${t('audit.details')} ${row.action}`} onClick={() => setOpened(row)}>
              {t('audit.details')}
            </Button>
          )}
          actionsWidth="6rem"
        />
      )}
      {error === undefined ? null : <ErrorNote error={error} />}
      {more === undefined ? null : (
        <div class="actions">
          <Button isBusy={isReading} onClick={more}>
            {t('audit.older')}
          </Button>
        </div>
      )}
      {opened === null ? null : <RowDialog row={opened} onClose={() => setOpened(null)} />}
    </>
  );
}

function queryOf(filter: AuditFilter): string {
  const query = new URLSearchParams(Object.entries(filter).map(([name, text]) => [name, String(text)]));
  return query.size === 0 ? '' : `?${query}`;
}

/** The same for a program. The log is for owners: a customer token, no API key. */
function commands(filter: AuditFilter): readonly { readonly name: string; readonly code: string }[] {
  const url = `${location.origin}/api/v1/audit${queryOf(filter)}`;
  // A single quote ends the quoted text, and stands for itself between two of them.
  const quoted = `'${url.replaceAll("'", "'\\''")}'`;
  return [
    { name: 'curl', code: `${keyedCurl('CUSTOMER_TOKEN')} -s ${quoted}` },
    { name: 'uqrp', code: 'UQRP_TOKEN=$CUSTOMER_TOKEN uqrp audit --since 1d' },
  ];
}

const COLUMNS: readonly Column<AuditRow>[] = [
  {
    id: 'action',
    head: t('audit.action'),
    isRowHeader: true,
    width: '12.5rem',
    cell: ({ action, outcome }) => (
      <>
        <span class="code">{action}</span>{' '}
        {outcome === 'refused' ? <Badge tone="bad" text={t('audit.refused')} /> : null}
      </>
    ),
  },
  {
    id: 'object',
    head: t('audit.object'),
    width: 'minmax(11rem, 2fr)',
    cell: (row) => <ObjectLink row={row} />,
  },
  {
    id: 'actor',
    head: t('audit.actor'),
    width: 'minmax(10rem, 1fr)',
    cell: ({ actor }) => <span title={actorText(actor)}>{actorText(actor)}</span>,
  },
  {
    id: 'at',
    head: t('audit.at'),
    width: '13.5rem',
    cell: ({ at }) => <time dateTime={at}>{dateTime(at)}</time>,
  },
];

/** An API key has its name beside its kind: it could be called like a person. */
function actorText({ kind, name }: AuditActor): string {
  const word = t(`audit.actor_${kind}`);
  return kind === 'user' ? (name ?? word) : name === null ? word : `${word} ${name}`;
}

function ObjectLink({ row: { object } }: { readonly row: AuditRow }) {
  const path = objectPath(object);
  const text = objectText(object);
  if (path === null) return <span title={text}>{text}</span>;
  return (
    <a class="code" title={text} href={path}>
      {text}
    </a>
  );
}

/** Its name, else how many of what, else what it is: a session has no name. */
function objectText({ kind, name, namespace, count: many, on }: AuditedObject): string {
  if (name !== null) return on === undefined ? name : t(on ? 'audit.on' : 'audit.off', { name });
  const word = kind === null ? '–' : kind.replace('_', ' ');
  if (many === null) return word;
  if (kind !== 'record') return `${count(many)} × ${word}`;
  return tn('audit.several', many, { what: namespace ?? t('audit.namespaces') });
}

/** All that a row says. */
function RowDialog({ row, onClose }: { readonly row: AuditRow; readonly onClose: () => void }) {
  const { object, actor } = row;
  const facts: readonly (readonly [string, string | null])[] = [
    [t('audit.at'), row.at],
    [t('audit.actor'), actorText(actor)],
    [t('audit.actorId'), actor.id],
    [t('audit.outcome'), t(row.outcome === 'refused' ? 'audit.refused' : 'audit.done')],
    [t('audit.objectKind'), object.kind],
    [t('audit.objectId'), object.id],
    [t('records.namespace'), object.namespace],
    [t('audit.howMany'), object.count === null ? null : count(object.count)],
    [t('audit.etagBefore'), row.etag_before],
    [t('audit.etagAfter'), row.etag_after],
    [t('audit.seq'), row.seq],
    [t('audit.request'), row.request_id],
  ];
  return (
    <Dialog title={row.action} place="side" onClose={onClose}>
      <p>
        <ObjectLink row={row} />
      </p>
      <dl class="facts">
        {facts.map(([name, value]) =>
          value === null ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd class="code wrap">{value}</dd>
            </div>
          ),
        )}
      </dl>
      <p class="dim">{t('audit.never')}</p>
    </Dialog>
  );
}
