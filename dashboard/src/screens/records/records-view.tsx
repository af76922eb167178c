import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, type NamespaceResource, type TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { place, setQuery } from '../../app/router.ts';
import { type Shortcut, useShortcuts } from '../../app/shortcuts.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { copyText } from '../../ui/copy-button.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Icon, PlusIcon, RefreshIcon, UploadIcon } from '../../ui/icon.tsx';
import { lazy } from '../../ui/lazy.tsx';
import { Loading } from '../../ui/loading.tsx';
import { toast } from '../../ui/toast.tsx';
import { SuspendedNote } from '../namespaces/suspended-note.tsx';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import type { Arrival } from './arrival.ts';
import { ArrivalLine } from './arrival-line.tsx';
import { ExportButton } from './export-button.tsx';
import { countText, FilterBar, MoreFilters, matchCount } from './filter-bar.tsx';
import { LiveLine } from './live-line.tsx';
import { NoRecords } from './no-records.tsx';
import { recordColumns } from './record-columns.tsx';
import type { Conflict } from './record-dialogs.tsx';
import {
  FILTER_NAMES,
  filterCount,
  filterTexts,
  isGoodFilter,
  keepsKey,
  orderOf,
  recordFilter,
  sortOnClick,
} from './record-filters.ts';
import { type RecordRow, useRecordPages } from './record-pages.ts';
import { keyParts } from './record-rules.ts';
import { recordSnippets } from './record-snippets.ts';
import { RowActions } from './row-actions.tsx';
import type { Saved } from './save-record.ts';
import { lineOf, useInPlace } from './use-in-place.ts';
import { useLiveRecords } from './use-live-records.ts';
import { useSelection } from './use-selection.ts';

const DeleteDialog = lazy(async () => (await import('./delete-dialog.tsx')).DeleteDialog);
const EditRecordDialog = lazy(async () => (await import('./record-dialogs.tsx')).EditRecordDialog);
const HistoryPanel = lazy(async () => (await import('../history/history-panel.tsx')).HistoryPanel);
const NewRecordDialog = lazy(async () => (await import('./record-dialogs.tsx')).NewRecordDialog);
const RecordPanel = lazy(async () => (await import('./record-panel.tsx')).RecordPanel);
const SelectionBar = lazy(async () => (await import('./selection-bar.tsx')).SelectionBar);

export interface RecordsViewProps {
  /** Only the records of this namespace; null: of all. */
  readonly namespace: string | null;
}

interface Edited {
  readonly record: TaggedRecord;
  readonly conflict?: Conflict;
}

/** The table of records with everything that can be done to them. */
export function RecordsView({ namespace }: RecordsViewProps) {
  useEffect(() => {
    for (const part of [NewRecordDialog, RecordPanel, SelectionBar, DeleteDialog]) part.preload();
  }, []);
  const { value: meta, error: metaError, again: metaAgain } = useMeta();
  const namespaces = useNamespaces();
  const { query } = place.value;
  const texts = { ...filterTexts(query), ...(namespace !== null && { namespace }) };
  const sort = orderOf(query);
  const filter = { ...recordFilter(texts), sort };
  const canMatch = isGoodFilter('search', texts.search);
  const pages = useRecordPages(canMatch ? filter : null);
  const { marks, forget } = useLiveRecords(filter.namespace ?? null, filter, pages);
  const facets = useResource(`records facets ${filter.namespace ?? ''}`, (signal) =>
    api.records.facets({ namespace: filter.namespace }, { signal }),
  ).value;
  const [isCreating, setCreating] = useState(false);
  const [edited, setEdited] = useState<Edited | null>(null);
  const [doomed, setDoomed] = useState<Pick<RecordRow, 'id' | 'key'> | null>(null);
  const [saved, setSaved] = useState<Saved | null>(null);
  const [arrival, setArrival] = useState<{ readonly id: string; readonly now: Arrival } | null>(null);
  const selection = useSelection(JSON.stringify(texts));
  /** Of the row under the keyboard. */
  const currentId = useRef<string | null>(null);
  const noteSaved = (done: Saved): void => {
    setArrival(null);
    setSaved(done);
    const { record } = done;
    invalidate(`record ${record.id}`);
    if (keepsKey(filter, record.key, record.namespace, record.resource)) pages.noteWritten(record);
  };
  const onSaved = (done: Saved): void => {
    setCreating(false);
    setEdited(null);
    noteSaved(done);
  };
  const { inPlace, start, end } = useInPlace(arrival, {
    // A dialog that was opened meanwhile is another matter.
    onSaved: noteSaved,
    onConflict: (base, mine, theirs) => setEdited({ record: base, conflict: { base, mine, theirs } }),
  });
  const columns = useMemo(() => recordColumns(marks, inPlace), [marks, inPlace]);
  const writable = useMemo(
    () => (namespaces.value ?? []).filter(({ suspended }) => suspended !== true),
    [namespaces.value],
  );
  const names = useMemo(() => writable.map(({ name }) => name), [writable]);
  const namespaceOf = (key: string): NamespaceResource | undefined =>
    namespaces.value?.find(({ name }) => name === keyParts(key).namespace);
  const isSuspended = (key: string): boolean => namespaceOf(key)?.suspended === true;
  const whole = namespaces.value?.find(({ name }) => name === texts.namespace);
  const drop = (id: string): void => {
    end(id);
    pages.noteDeleted([id]);
    selection.drop(new Set([id]));
    if (query.get('record') === id) setQuery({ record: null });
  };
  const startEdit = async (row: RecordRow, isInPlace: boolean): Promise<void> => {
    if (isSuspended(row.key)) return;
    const reading = api.records.get(row.id);
    const known = isInPlace ? row.value.line : null;
    if (known !== null) start(row, known, reading);
    try {
      const record = await reading;
      if (known !== null) return;
      const line = isInPlace ? lineOf(record) : null;
      if (line !== null) start(row, line, reading);
      // Not in the place of a form that was opened meanwhile.
      else setEdited((open) => open ?? { record });
    } catch (error) {
      const isGone = error instanceof ApiError && error.status === 404;
      if (isGone) drop(row.id);
      // The field stays open; saving reads again.
      else if (known !== null) return;
      toast(isGone ? t('records.isGone', { key: row.key }) : String(error), { isError: true });
    }
  };
  const editCurrent = (isInPlace: boolean): void => {
    // As the list has it now, not as it was when the keyboard came to it.
    const row = pages.rows.find(({ id }) => id === currentId.current);
    if (row !== undefined) void startEdit(row, isInPlace);
  };
  const isReadOnly = whole?.suspended === true;
  const startNew = (): void => {
    if (!isReadOnly) setCreating(true);
  };
  const acts = useRef({ create: startNew, edit: editCurrent });
  acts.current = { create: startNew, edit: editCurrent };
  const shortcuts = useRef<Shortcut[]>([
    { keys: 'c', text: 'records.new', run: () => acts.current.create() },
    { keys: 'e', text: 'records.editValue', run: () => acts.current.edit(true) },
    { keys: 'E', text: 'records.editForm', run: () => acts.current.edit(false) },
  ]);
  useShortcuts(shortcuts.current);

  const copyDig = async ({ key }: RecordRow): Promise<void> => {
    const isOpen = namespaceOf(key)?.public_read === true;
    const code = meta && recordSnippets(key, meta, location.origin, isOpen)[0]?.code;
    if (code !== undefined && (await copyText(code))) toast(t('records.digCopied', { key }));
  };
  const restart = (): void => {
    forget();
    invalidate('records facets');
    pages.restart();
  };
  const filters = filterCount(texts) - (namespace === null ? 0 : 1);
  const clear = (): void =>
    setQuery(Object.fromEntries(Object.values(FILTER_NAMES).map((name) => [name, null])));
  const opened = query.get('record');
  const history = query.get('history');
  const create = isReadOnly ? null : (
    <Button tone="primary" onClick={() => setCreating(true)} isDisabled={meta === undefined}>
      <Icon of={PlusIcon} />
      {t('records.new')}
    </Button>
  );
  const importLink = isReadOnly ? null : (
    <a
      class="button"
      href={`/records/import${texts.namespace === '' ? '' : `?namespace=${encodeURIComponent(texts.namespace)}`}`}
    >
      <Icon of={UploadIcon} />
      {t('records.import')}
    </a>
  );
  const own = namespaces.value?.filter(({ name }) => namespace === null || name === namespace);
  const all = own?.reduce((sum, { records_count }) => sum + records_count, 0);
  const isEmpty = pages.state === 'ready' && pages.rows.length === 0 && pages.isWhole;
  const word = texts.search.trim();
  const matched = pages.matchedBy === 'key_prefix' ? null : pages.matchedBy;
  const found = matched === null ? texts : { ...texts, search: '', [matched]: word };
  const matching = pages.isWhole ? pages.rows.length : matchCount(facets, found);
  return (
    <>
      {isEmpty && filters === 0 ? null : (
        <>
          <FilterBar
            texts={texts}
            namespaces={namespaces.value ?? []}
            facets={facets}
            isOneNamespace={namespace !== null}
          >
            {create}
            {importLink}
            {selection.rows.length > 0 ? null : (
              <ExportButton
                whole={filters > (namespace === null ? 1 : 0) ? null : (whole ?? null)}
                filter={filter}
              />
            )}
            <Button onClick={restart} isBusy={pages.state === 'loading'}>
              <Icon of={RefreshIcon} />
              {t('records.refresh')}
            </Button>
          </FilterBar>
          <div class="actions list-line">
            {/* While others write, their line alone is read out. */}
            <span role={marks.size === 0 ? 'status' : undefined}>
              {matched === null ? '' : `${t(`records.matched_${matched}`, { word })} `}
              {pages.state === 'ready' ? countText(pages, facets, found, all) : ''}
            </span>
            {pages.rows.length === 0 ? null : selection.read === null ? (
              <Button tone="quiet" onClick={() => selection.selectAll(filter)}>
                {t('records.selectAll')}
                {matching === null ? null : (
                  <span class="dim" aria-hidden="true">
                    {count(matching)}
                  </span>
                )}
              </Button>
            ) : (
              <>
                <span role="status">{t('records.exporting', { loaded: count(selection.read) })}</span>
                <Button onClick={selection.stop}>{t('records.stop')}</Button>
              </>
            )}
            {filters === 0 ? null : (
              <Button tone="quiet" onClick={clear}>
                {t('records.clear')}
              </Button>
            )}
            <MoreFilters
              texts={texts}
              namespaces={namespaces.value ?? []}
              isOneNamespace={namespace !== null}
            />
          </div>
        </>
      )}
      {namespace === null ? <SuspendedNote namespace={whole} /> : null}
      {metaError === undefined ? null : <ErrorNote error={metaError} again={metaAgain} />}
      {saved !== null && meta !== undefined ? (
        <ArrivalLine
          saved={saved}
          meta={meta}
          namespace={namespaces.value?.find(({ name }) => name === saved.record.namespace)}
          isHidden={inPlace.has(saved.record.id)}
          onArrival={(now) => setArrival({ id: saved.record.id, now })}
        />
      ) : null}
      <LiveLine marks={marks} onClear={() => forget()} onRestart={restart} />
      {pages.state === 'loading' ? <Loading /> : null}
      {pages.error === undefined ? null : <ErrorNote error={pages.error} again={pages.again} />}
      {isEmpty ? (
        <NoRecords texts={texts} filters={filters} onClear={clear}>
          {create}
          {namespaces.value?.length === 0 ? (
            <span>
              {t('import.noNamespaceText')} <a href="/namespaces">{t('import.toNamespaces')}</a>
            </span>
          ) : (
            importLink
          )}
        </NoRecords>
      ) : null}
      {/* Also where no row is left: what it is doing, and its undo, must not go with the rows. */}
      {selection.rows.length > 0 && meta !== undefined ? (
        <SelectionBar
          chosen={selection.rows}
          filter={filter}
          meta={meta}
          namespaces={namespaces.value ?? []}
          onDone={() => {
            selection.clear();
            invalidate('records');
            invalidate('namespaces');
          }}
          onDeleted={pages.noteDeleted}
          onClear={selection.clear}
        />
      ) : null}
      {pages.rows.length > 0 ? (
        <DataTable
          label={t('records.title')}
          columns={columns}
          rows={pages.rows}
          rowKey={rowId}
          rowName={rowName}
          total={pages.isWhole ? pages.rows.length : -1}
          onEnd={pages.more}
          selected={selection.ids}
          onSelect={(ids) => selection.set(ids, pages.rows)}
          sorted={{ id: sort.endsWith('key') ? 'key' : 'updated', isDescending: sort.startsWith('-') }}
          onSort={(id) => setQuery({ sort: sortOnClick(sort, id) })}
          onEdit={(row) => void startEdit(row, true)}
          onCurrent={(row) => {
            currentId.current = row?.id ?? null;
          }}
          onOpen={({ id }) => setQuery({ record: id }, {})}
          hasCards
          actionsWidth="0rem"
          actions={(row) => (
            <RowActions
              row={row}
              isReadOnly={isSuspended(row.key)}
              onCopyDig={() => void copyDig(row)}
              onEdit={(isInPlace) => void startEdit(row, isInPlace)}
              onDelete={() => setDoomed(row)}
            />
          )}
        />
      ) : null}
      {opened !== null && meta !== undefined ? (
        <RecordPanel
          id={opened}
          meta={meta}
          namespaces={namespaces.value ?? []}
          marks={marks}
          onEdit={(record) => setEdited({ record })}
          onDelete={setDoomed}
          onGone={() => pages.noteDeleted([opened])}
          onClose={(key) => {
            if (key !== undefined) forget(key);
            setQuery({ record: null });
          }}
        />
      ) : null}
      {history === null ? null : (
        <HistoryPanel
          of={history}
          namespaces={namespaces.value}
          onClose={() => setQuery({ history: null })}
        />
      )}
      {/* The key begins with a namespace, and who has none gets no form: both must be known. */}
      {isCreating && meta !== undefined && namespaces.state !== 'loading' ? (
        <NewRecordDialog
          meta={meta}
          hasNoNamespace={namespaces.value?.length === 0}
          namespaces={names}
          namespace={texts.namespace !== '' ? texts.namespace : names.length === 1 ? (names[0] ?? '') : ''}
          onSaved={onSaved}
          onClose={() => setCreating(false)}
        />
      ) : null}
      {edited !== null && meta !== undefined ? (
        <EditRecordDialog
          meta={meta}
          namespaces={names}
          {...edited}
          isChanged={marks.has(edited.record.key)}
          onSaved={onSaved}
          onClose={() => setEdited(null)}
        />
      ) : null}
      {doomed === null ? null : (
        <DeleteDialog
          record={doomed}
          namespace={namespaceOf(doomed.key)}
          onClose={() => setDoomed(null)}
          onBack={pages.noteWritten}
          onDeleted={() => drop(doomed.id)}
        />
      )}
    </>
  );
}

function rowId({ id }: RecordRow): string {
  return id;
}

function rowName({ key }: RecordRow): string {
  return key;
}
