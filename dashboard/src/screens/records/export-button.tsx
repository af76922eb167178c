import { useEffect, useRef, useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { saveFile } from '../../ui/save-file.ts';

/** Records after which the number that was read is shown again. */
const STEP = 500;

export interface ExportButtonProps {
  readonly of: NamespaceResource;
}

/** Saves every record of a namespace as JSON lines. A file is saved only when the export has come as a whole. */
export function ExportButton({ of }: ExportButtonProps) {
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
      for await (const record of api.namespaces.export(of.id, { signal })) {
        lines.push(`${JSON.stringify(record)}\n`);
        if (lines.length % STEP === 0) setRead(lines.length);
      }
      saveFile(`${of.name}.jsonl`, 'application/x-ndjson', lines.join(''));
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    } finally {
      setRead(null);
    }
  };
  return (
    <>
      <Button isBusy={read !== null} onClick={run}>
        {read === null ? t('records.exportAll') : t('records.exporting', { loaded: count(read) })}
      </Button>
      {error === undefined ? null : <ErrorNote error={error} />}
    </>
  );
}
