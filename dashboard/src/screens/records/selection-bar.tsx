import { useEffect, useRef, useState } from 'preact/hooks';
import type { Meta, NamespaceResource, NewRecord, RecordFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { count } from '../../format/format.ts';
import { t, tn } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { toast } from '../../ui/toast.tsx';
import { BulkDialog } from './bulk-dialog.tsx';
import { type BulkItem, stepsOf } from './bulk-job.ts';
import { type HeldDeletion, holdRecords, undoDeletion } from './deletion.ts';
import { LifetimeDialog } from './lifetime-dialog.tsx';
import { exportLine, readSelected, storedFields } from './read-selected.ts';
import type { RecordRow } from './record-pages.ts';

export interface SelectionBarProps {
  /** The selected rows, loaded in the table or not. */
  readonly chosen: readonly RecordRow[];
  readonly filter: RecordFilter;
  readonly meta: Meta;
  readonly namespaces: readonly NamespaceResource[];
  /** Something was written: the list has to be read again. */
  readonly onDone: () => void;
  readonly onDeleted: (ids: readonly string[]) => void;
  readonly onClear: () => void;
}

/** Records after which the number that was read is shown again. */
const STEP = 500;

interface Job {
  readonly title: string;
  readonly text: string;
  /** Of the records, when it was asked for: the list may be read again meanwhile. */
  readonly chosen: readonly RecordRow[];
  readonly items: readonly BulkItem[];
  readonly isDeletion: boolean;
  /** Of a deletion that can be taken back. */
  readonly held?: HeldDeletion | null;
}

/** What can be done with many records at once. */
export function SelectionBar(props: SelectionBarProps) {
  const { chosen, filter, meta, namespaces, onDone, onDeleted, onClear } = props;
  const [job, setJob] = useState<Job | null>(null);
  const [isSetting, setSetting] = useState(false);
  /** How many records were read for an action; null: none is under way. */
  const [read, setRead] = useState<number | null>(null);
  const stopping = useRef(new AbortController());
  useEffect(() => () => stopping.current.abort(), []);
  const [error, setError] = useState<unknown>(undefined);
  const limit = meta.limits.writes_per_minute ?? 60;
  const writes = (items: number): string => tn('records.bulkWrites', stepsOf(items), { limit: count(limit) });
  const reading = async (act: () => Promise<void>): Promise<void> => {
    if (read !== null) return;
    setRead(0);
    stopping.current = new AbortController();
    setError(undefined);
    try {
      await act();
    } catch (failure) {
      if (!stopping.current.signal.aborted) setError(failure);
    } finally {
      setRead(null);
    }
  };
  const exportChosen = async (): Promise<void> => {
    const lines: string[] = [];
    for await (const record of readSelected(api, chosen, filter, stopping.current.signal)) {
      lines.push(exportLine(record));
      if (lines.length % STEP === 0) setRead(lines.length);
    }
    saveFile('records.jsonl', 'application/x-ndjson', lines.join(''));
  };
  const change = async (parts: Partial<NewRecord>): Promise<void> => {
    const items: BulkItem[] = [];
    for await (const record of readSelected(api, chosen, filter, stopping.current.signal)) {
      if (items.length % STEP === 0) setRead(items.length);
      const { key } = record;
      const fields = storedFields(record);
      const { expires_at: _, ...rest } = fields;
      items.push({ key, record: { key, ...(parts.expires_in === undefined ? fields : rest), ...parts } });
    }
    setJob({
      title: tn('records.bulkChange', items.length, { key: items[0]?.key ?? '' }),
      text: `${writes(items.length)} ${t('records.bulkChangeText')}`,
      chosen,
      items,
      isDeletion: false,
    });
  };
  const askDelete = async (): Promise<void> => {
    const held = await holdRecords(api, chosen, filter, namespaces);
    setJob({
      title: tn('records.bulkDelete', chosen.length, { key: chosen[0]?.key ?? '' }),
      text: `${writes(chosen.length)} ${t(held === null ? 'records.bulkDeleteText' : 'records.bulkDeleteUndo')}`,
      chosen,
      items: chosen.map(({ key }) => ({ key, record: null })),
      isDeletion: true,
      held,
    });
  };
  if (chosen.length === 0 && job === null) return null;
  // The server refuses a request with any record of these.
  const suspended = new Set(namespaces.flatMap(({ name, suspended }) => (suspended === true ? [name] : [])));
  const refusing =
    suspended.size === 0 ? undefined : chosen.find(({ namespace }) => suspended.has(namespace));
  return (
    <div class="note selection">
      <div class="actions">
        <strong role="status">{tn('records.selected', chosen.length)}</strong>
        {refusing === undefined ? (
          <>
            <Button tone="danger" isBusy={read !== null} onClick={() => reading(askDelete)}>
              {t('records.deleteSelected')}
            </Button>
            <Button onClick={() => setSetting(true)}>{t('records.setLifetime')}</Button>
          </>
        ) : (
          <span>{t('records.selectedSuspended', { name: refusing.namespace })}</span>
        )}
        <Button isBusy={read !== null} onClick={() => reading(exportChosen)}>
          {t('records.export')}
        </Button>
        {read === null || read === 0 ? null : (
          <>
            <span role="status">{t('records.exporting', { loaded: count(read) })}</span>
            <Button onClick={() => stopping.current.abort()}>{t('records.stop')}</Button>
          </>
        )}
        <Button tone="quiet" onClick={onClear}>
          {t('records.clearSelection')}
        </Button>
      </div>
      {error === undefined ? null : <ErrorNote error={error} />}
      {isSetting ? (
        <LifetimeDialog
          meta={meta}
          onClose={() => setSetting(false)}
          onChosen={async (parts) => {
            await change(parts);
            setSetting(false);
          }}
        />
      ) : null}
      {job === null ? null : (
        <BulkDialog
          title={job.title}
          text={job.text}
          items={job.items}
          isDeletion={job.isDeletion}
          onClose={(done, written) => {
            setJob(null);
            if (done.size === 0) return;
            if (job.isDeletion) {
              onDeleted(job.chosen.filter(({ key }) => done.has(key)).map(({ id }) => id));
              const { held } = job;
              const undo = async (): Promise<void> => {
                if (held) await undoDeletion(api, held, written, done);
                onDone();
                toast(tn('records.backMany', done.size));
              };
              toast(tn('records.deletedMany', done.size), held ? { undo } : {});
            }
            onDone();
          }}
        />
      )}
    </div>
  );
}
