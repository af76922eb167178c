import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import type { NamespaceResource, RecordResource, TaggedRecord } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { place, setQuery } from '../../app/router.ts';
import { type Shortcut, useShortcuts } from '../../app/shortcuts.ts';
import { invalidate } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { toast } from '../../ui/toast.tsx';
import { HistoryPanel } from '../history/history-panel.tsx';
import { useNamespaces } from '../namespaces/use-namespaces.ts';
import { ArrivalLine } from './arrival-line.tsx';
import { deleteRecord } from './deletion.ts';
import { ExportButton } from './export-button.tsx';
import { FilterBar } from './filter-bar.tsx';
import { LiveLine } from './live-line.tsx';
import { recordColumns } from './record-columns.tsx';
import { EditRecordDialog, NewRecordDialog } from './record-dialogs.tsx';
import { FILTER_NAMES, filterCount, filterTexts, keepsKey, recordFilter } from './record-filters.ts';
import { type RecordRow, useRecordPages } from './record-pages.ts';
import { RecordPanel } from './record-panel.tsx';
import { keyParts } from './record-rules.ts';
import type { Saved } from './save-record.ts';
import { SelectionBar } from './selection-bar.tsx';
import { useLiveRecords } from './use-live-records.ts';

export interface RecordsViewProps {
  /** Only the records of this namespace; null: of all. */
  readonly namespace: string | null;
}

type Doomed = Pick<RecordRow, 'id' | 'key'>;

/** The table of records with everything that can be done to them. */
export function RecordsView({ namespace }: RecordsViewProps) {
  const { value: meta, error: metaError, again: metaAgain } = useMeta();
  const namespaces = useNamespaces();
  const { query } = place.value;
  const texts = { ...filterTexts(query), ...(namespace !== null && { namespace }) };
  const filter = recordFilter(texts);
  const pages = useRecordPages(filter);
  const { marks, forget } = useLiveRecords(filter.namespace ?? null, filter, pages);
  const columns = useMemo(() => recordColumns(marks), [marks]);
  const [isCreating, setCreating] = useState(false);
  const [edited, setEdited] = useState<TaggedRecord | null>(null);
  const [doomed, setDoomed] = useState<Doomed | null>(null);
  const [saved, setSaved] = useState<Saved | null>(null);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const current = useRef<RecordRow | null>(null);

  const names = useMemo(() => (namespaces.value ?? []).map(({ name }) => name), [namespaces.value]);
  const startEdit = async (id: string): Promise<void> => {
    try {
      setEdited(await api.records.get(id));
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), { isError: true });
    }
  };
  const acts = useRef({ create: () => setCreating(true), edit: () => undefined as unknown });
  acts.current.edit = () => (current.current === null ? undefined : startEdit(current.current.id));
  const shortcuts = useRef<Shortcut[]>([
    { keys: 'c', text: 'records.new', run: () => acts.current.create() },
    { keys: 'e', text: 'records.edit', run: () => void acts.current.edit() },
  ]);
  useShortcuts(shortcuts.current);

  const onSaved = (done: Saved): void => {
    setCreating(false);
    setEdited(null);
    setSaved(done);
    const { record } = done;
    invalidate(`record ${record.id}`);
    if (keepsKey(filter, record.key, record.namespace, record.resource)) pages.noteWritten(record);
  };
  const filters = filterCount(texts) - (namespace === null ? 0 : 1);
  const clear = (): void =>
    setQuery(Object.fromEntries(Object.values(FILTER_NAMES).map((name) => [name, null])));
  const opened = query.get('record');
  const history = query.get('history');
  const create = (
    <Button tone="primary" onClick={() => setCreating(true)} isDisabled={meta === undefined}>
      {t('records.new')}
    </Button>
  );
  const importLink = (
    <a
      class="button"
      href={`/records/import${texts.namespace === '' ? '' : `?namespace=${encodeURIComponent(texts.namespace)}`}`}
    >
      {t('records.import')}
    </a>
  );
  const whole = namespaces.value?.find(({ name }) => name === texts.namespace);
  const isEmpty = pages.state === 'ready' && pages.rows.length === 0 && pages.isWhole;
  const known = namespaces.value?.find(({ name }) => name === saved?.record.namespace);
  return (
    <>
      {isEmpty && filters === 0 ? null : (
        <>
          <FilterBar texts={texts} namespaces={names} isOneNamespace={namespace !== null} onClear={clear} />
          <div class="actions">
            {create}
            {importLink}
            {whole === undefined || filters > (namespace === null ? 1 : 0) ? null : (
              <ExportButton of={whole} />
            )}
            {/* While others write, their line alone is read out. */}
            <span class="dim" role={marks.size === 0 ? 'status' : undefined}>
              {pages.state === 'ready' ? statusOf(pages, namespaces.value, texts.namespace, filters) : ''}
            </span>
          </div>
        </>
      )}
      {metaError === undefined ? null : <ErrorNote error={metaError} again={metaAgain} />}
      {saved !== null && meta !== undefined ? (
        <ArrivalLine saved={saved} meta={meta} namespace={known} />
      ) : null}
      <LiveLine
        marks={marks}
        onClear={() => forget()}
        onRestart={() => {
          forget();
          pages.restart();
        }}
      />
      {pages.state === 'loading' ? <Loading /> : null}
      {pages.error === undefined ? null : <ErrorNote error={pages.error} again={pages.again} />}
      {isEmpty ? (
        <Nothing namespace={texts.namespace} filters={filters} onClear={clear}>
          {create}
          {namespaces.value?.length === 0 ? (
            <span>
              {t('import.noNamespaceText')} <a href="/namespaces">{t('import.toNamespaces')}</a>
            </span>
          ) : (
            importLink
          )}
        </Nothing>
      ) : null}
      {/* Also where no row is left: what it is doing, and its undo, must not go with the rows. */}
      {selected.size > 0 && meta !== undefined ? (
        <SelectionBar
          ids={selected}
          rows={pages.rows}
          filter={filter}
          meta={meta}
          namespaces={namespaces.value ?? []}
          onDone={() => {
            setSelected(new Set());
            invalidate('records');
            invalidate('namespaces');
          }}
          onDeleted={pages.noteDeleted}
          onClear={() => setSelected(new Set())}
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
          selected={selected}
          onSelect={setSelected}
          onCurrent={(row) => {
            current.current = row;
          }}
          onOpen={({ id }) => setQuery({ record: id }, {})}
          actions={(row) => (
            <>
              <Button tone="quiet" onClick={() => startEdit(row.id)}>
                {t('records.edit')}
              </Button>
              <Button tone="quiet" onClick={() => setDoomed(row)}>
                {t('ui.delete')}
              </Button>
            </>
          )}
        />
      ) : null}
      {opened !== null && meta !== undefined ? (
        <RecordPanel
          id={opened}
          meta={meta}
          namespaces={namespaces.value ?? []}
          marks={marks}
          onEdit={setEdited}
          onDelete={setDoomed}
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
      {isCreating && meta !== undefined ? (
        <NewRecordDialog
          meta={meta}
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
          record={edited}
          isChanged={marks.has(edited.key)}
          onSaved={onSaved}
          onClose={() => setEdited(null)}
        />
      ) : null}
      {doomed === null ? null : (
        <DeleteDialog
          record={doomed}
          namespace={namespaces.value?.find(({ name }) => name === keyParts(doomed.key).namespace)}
          onClose={() => setDoomed(null)}
          onBack={pages.noteWritten}
          onDeleted={() => {
            pages.noteDeleted([doomed.id]);
            setSelected(new Set([...selected].filter((id) => id !== doomed.id)));
            if (opened === doomed.id) setQuery({ record: null });
          }}
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

interface DeleteDialogProps {
  readonly record: Doomed;
  readonly namespace: NamespaceResource | undefined;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
  /** The deletion was undone. */
  readonly onBack: (record: RecordResource) => void;
}

function DeleteDialog({ record, namespace, onClose, onDeleted, onBack }: DeleteDialogProps) {
  const [erase, setErase] = useState(false);
  const { key } = record;
  const days = namespace?.history?.days;
  const text =
    days === undefined
      ? t('records.deleteText', { key })
      : t(erase ? 'records.deleteErases' : 'records.deleteKeeps', { key, days: count(days) });
  return (
    <ConfirmDialog
      title={t('records.deleteOne')}
      onClose={onClose}
      onConfirm={async () => {
        const takeBack = await deleteRecord(api, record.id, { namespace, erase });
        const undo = async (): Promise<void> => {
          onBack((await takeBack?.()) as RecordResource);
          invalidate('usage');
          toast(t('records.backOne', { key }));
        };
        toast(t('records.deletedOne', { key }), takeBack === null ? {} : { undo });
        onDeleted();
      }}
    >
      <p>{text}</p>
      {days === undefined ? null : (
        <Checkbox label={t('records.erase')} isChecked={erase} onChange={setErase} />
      )}
    </ConfirmDialog>
  );
}

interface NothingProps {
  readonly namespace: string;
  readonly filters: number;
  readonly onClear: () => void;
  readonly children: ComponentChildren;
}

function Nothing({ namespace, filters, onClear, children }: NothingProps) {
  if (filters > 0) {
    return (
      <div class="empty">
        <h2>{tn('records.noMatch', filters)}</h2>
        <Button onClick={onClear}>{t('records.clear')}</Button>
      </div>
    );
  }
  const place = namespace === '' ? 'acme' : namespace;
  return (
    <EmptyState
      title={namespace === '' ? t('records.emptyAll') : t('records.empty', { namespace })}
      text={t('records.emptyText')}
      command={`curl -s ${location.origin}/api/v1/records -H "Authorization: Bearer $UQRP_TOKEN" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"record": {"key": "greeting.${place}.v1", "data": "aGVsbG8=", "content_type": "text/plain"}}'`}
    >
      {children}
    </EmptyState>
  );
}

/** How many records are shown, stated honestly: the whole number is known without filters alone. */
function statusOf(
  pages: { readonly rows: readonly unknown[]; readonly isWhole: boolean; readonly isReadingMore: boolean },
  namespaces: readonly { readonly name: string; readonly records_count: number }[] | undefined,
  namespace: string,
  filters: number,
): string {
  const loaded = count(pages.rows.length);
  if (pages.isReadingMore) return t('records.readingMore', { loaded });
  if (pages.isWhole) return t('records.countWhole', { loaded });
  const own = namespaces?.filter(({ name }) => namespace === '' || name === namespace);
  if (own === undefined || filters > (namespace === '' ? 0 : 1)) return t('records.countSome', { loaded });
  const total = own.reduce((sum, { records_count }) => sum + records_count, 0);
  return t('ui.rowsAbout', { loaded, total: count(total) });
}
