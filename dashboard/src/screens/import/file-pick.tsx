import { useState } from 'preact/hooks';
import { bytes } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { type FileFormat, formatOfFile } from './file-format.ts';

export interface PickedFile {
  readonly format: FileFormat;
  readonly text: string;
  /** Where variables of a .env file go, such as `env.acme.v1`. */
  readonly place: string;
}

/** 50,000 full records. */
const FILE_MAX = 250_000_000;

export interface FilePickProps {
  readonly namespaces: readonly string[];
  /** The namespace that is chosen at first. */
  readonly wanted: string;
  readonly onPicked: (file: PickedFile) => Promise<void>;
}

/** A file that is dropped or chosen, and how it is to be read. */
export function FilePick({ namespaces, wanted, onPicked }: FilePickProps) {
  const [file, setFile] = useState<{ readonly name: string; readonly text: string } | null>(null);
  const [format, setFormat] = useState<FileFormat>('jsonl');
  const [namespace, setNamespace] = useState(namespaces.includes(wanted) ? wanted : (namespaces[0] ?? ''));
  const [resource, setResource] = useState('env');
  const [isOver, setOver] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const take = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    if (chosen.size > FILE_MAX) return setFault(t('import.tooLarge', { limit: bytes(FILE_MAX) }));
    const text = await chosen.text();
    const found = formatOfFile(chosen.name, text);
    setFault(null);
    setFile({ name: chosen.name, text });
    setFormat(found);
    // The variables of a .env file need a place, which is asked for first.
    if (found !== 'env') await onPicked({ format: found, text, place: '' });
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the file input is the first */}
      <div
        class={`empty drop ${isOver ? 'over' : ''}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer?.files[0]);
        }}
      >
        <label class="field">
          {t('import.file')}
          <input
            type="file"
            accept=".jsonl,.ndjson,.json,.csv,.tsv,.env,.txt"
            aria-describedby="import-help"
            onChange={(event) => void take(event.currentTarget.files?.[0])}
          />
        </label>
        <p id="import-help" class="dim">
          {t('import.help')}
        </p>
        {fault === null ? null : (
          <p role="alert" class="field-error">
            {fault}
          </p>
        )}
      </div>
      {file === null ? null : (
        <form
          class="bar"
          onSubmit={(event) => {
            event.preventDefault();
            void onPicked({ format, text: file.text, place: `${resource.toLowerCase()}.${namespace}.v1` });
          }}
        >
          <Select<FileFormat>
            label={t('import.format')}
            value={format}
            options={[
              { value: 'jsonl', text: t('import.jsonl') },
              { value: 'csv', text: t('import.csv') },
              { value: 'env', text: t('import.env') },
            ]}
            onChange={setFormat}
          />
          {format === 'env' ? (
            <>
              <TextField label={t('import.resource')} value={resource} onInput={setResource} isCode />
              <Select
                label={t('import.namespace')}
                value={namespace}
                options={namespaces.map((name) => ({ value: name, text: name }))}
                onChange={setNamespace}
              />
            </>
          ) : null}
          <Button type="submit">{t('import.dryRun')}</Button>
        </form>
      )}
    </>
  );
}
