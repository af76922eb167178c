import { useRef, useState } from 'preact/hooks';
import { bytes } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { FileField } from '../../ui/file-field.tsx';
import { DownloadIcon, Icon } from '../../ui/icon.tsx';
import { saveFile } from '../../ui/save-file.ts';
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
  /** Another file, or another way to read it: what was compared before is not of it. */
  readonly onChange: () => void;
}

/** A file that is dropped or chosen, and how it is to be read. */
export function FilePick({ namespaces, wanted, onPicked, onChange }: FilePickProps) {
  const [file, setFile] = useState<{ readonly name: string; readonly text: string } | null>(null);
  const [format, setFormat] = useState<FileFormat>('jsonl');
  const [namespace, setNamespace] = useState(namespaces.includes(wanted) ? wanted : (namespaces[0] ?? ''));
  const [resource, setResource] = useState('env');
  const [isOver, setOver] = useState(false);
  const [fault, setFault] = useState<string | null>(null);
  const newest = useRef<File | null>(null);
  const take = async (chosen: File | undefined): Promise<void> => {
    if (chosen === undefined) return;
    newest.current = chosen;
    onChange();
    setFile(null);
    setFault(null);
    if (chosen.size > FILE_MAX) return setFault(t('import.tooLarge', { limit: bytes(FILE_MAX) }));
    const text = textOf(await chosen.arrayBuffer());
    // A larger one that was chosen before may be read later.
    if (newest.current !== chosen) return;
    if (text === null) return setFault(t('import.notUtf8', { name: chosen.name }));
    const found = formatOfFile(chosen.name, text);
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
        <div class="actions">
          <FileField
            name={file?.name}
            accept=".jsonl,.ndjson,.json,.csv,.tsv,.env,.txt"
            error={fault}
            describedBy="import-help"
            onFile={(chosen) => void take(chosen)}
          />
          <span class="dim">{t('import.drop')}</span>
        </div>
        <p id="import-help" class="dim">
          {t('import.help')}
        </p>
        <p class="actions">
          <span class="dim">{t('import.sample')}</span>
          {samplesOf(namespace).map(({ name, text }) => (
            <Button key={name} tone="quiet" onClick={() => saveFile(name, 'text/plain', text)}>
              <Icon of={DownloadIcon} /> {name}
            </Button>
          ))}
        </p>
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
            onChange={(chosen) => {
              onChange();
              setFormat(chosen);
            }}
          />
          {format === 'env' ? (
            <>
              <TextField
                word="resource"
                label={t('import.resource')}
                value={resource}
                onInput={(typed) => {
                  onChange();
                  setResource(typed);
                }}
                isCode
              />
              <Select
                label={t('import.namespace')}
                value={namespace}
                options={namespaces.map((name) => ({ value: name, text: name }))}
                onChange={(chosen) => {
                  onChange();
                  setNamespace(chosen);
                }}
              />
            </>
          ) : null}
          <Button type="submit">{t('import.dryRun')}</Button>
        </form>
      )}
    </>
  );
}

/** Null: it is not UTF-8, and would be stored with other letters in it. */
function textOf(octets: ArrayBuffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    return null;
  }
}

/** Files that an import takes as they are. */
function samplesOf(namespace: string): readonly { readonly name: string; readonly text: string }[] {
  const key = `greeting.${namespace}.v1`;
  return [
    {
      name: 'sample.csv',
      text: `key,text,content_type,ttl_seconds\n${key},"Hello, world",text/plain,300\n`,
    },
    {
      name: 'sample.jsonl',
      text: `${JSON.stringify({ key, data: btoa('Hello, world'), content_type: 'text/plain' })}\n`,
    },
    { name: 'sample.env', text: 'GREETING="Hello, world"\nRETRIES=3\n' },
  ];
}
