import { useEffect, useRef, useState } from 'preact/hooks';
import type { NamespaceResource, RecordFilter } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { DownloadIcon, Icon } from '../../ui/icon.tsx';
import { saveFile } from '../../ui/save-file.ts';
import { exportLine } from './read-selected.ts';

/** Records after which the number that was read is shown again. */
const STEP = 500;

export interface ExportButtonProps {
  /** All records of this namespace; null: those of the filter. */
  readonly whole: NamespaceResource | null;
  readonly filter: RecordFilter;
}

/** Saves what the list shows, loaded or not, as JSON lines. A file is saved only when everything has come. */
export function ExportButton({ whole, filter }: ExportButtonProps) {
  const [read, setRead] = useState<number | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const run = async (): Promise<void> => {
    if (read !== null) return;
    const { signal } = ending.current;
    setRead(0);
    setError(undefined);
    try {
      const lines: string[] = [];
      for await (const line of linesOf(whole, filter, signal)) {
        lines.push(line);
        if (lines.length % STEP === 0) setRead(lines.length);
      }
      saveFile(`${whole?.name ?? 'records'}.jsonl`, 'application/x-ndjson', lines.join(''));
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    } finally {
      setRead(null);
    }
  };
  return (
    <>
      <Button isBusy={read !== null} onClick={run}>
        <Icon of={DownloadIcon} />
        {read !== null
          ? t('records.exporting', { loaded: count(read) })
          : t(whole === null ? 'records.exportShown' : 'records.exportAll')}
      </Button>
      {error === undefined ? null : <ErrorNote error={error} />}
    </>
  );
}

/** The export of a namespace says whether it came whole; a listing has as many pages as it says. */
async function* linesOf(
  whole: NamespaceResource | null,
  filter: RecordFilter,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  if (whole === null)
    for await (const record of api.records.list(filter, { limit: STEP, signal })) yield exportLine(record);
  else
    for await (const record of api.namespaces.export(whole.id, { signal }))
      yield `${JSON.stringify(record)}\n`;
}
