import { useId, useState } from 'preact/hooks';
import { bytes, count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Chips } from '../../ui/chips.tsx';
import { TextArea } from '../../ui/field.tsx';
import { FileField } from '../../ui/file-field.tsx';
import { Gauge } from '../../ui/gauge.tsx';
import { formatted, isJson, minified } from './json-text.ts';
import {
  type DataMode,
  type Draft,
  type ModeRefusal,
  type ReadDraft,
  withFile,
  withMode,
} from './record-draft.ts';

const MODES: readonly DataMode[] = ['text', 'json', 'file', 'base64'];
/** A larger file is not read: no record takes it. */
const FILE_MAX = 1_000_000;

export interface DataFieldProps {
  readonly draft: Draft;
  readonly read: ReadDraft;
  /** Octets. */
  readonly limit: number;
  readonly error: string | null;
  readonly hasFocus: boolean;
  readonly onChange: (draft: Draft) => void;
}

/** The data as text, JSON, a file or Base64, and how much of the limit it takes. */
export function DataField({ draft, read, limit, error, hasFocus, onChange }: DataFieldProps) {
  const keeps = useId();
  const [refusal, setRefusal] = useState<ModeRefusal | null>(null);
  const change = (to: Draft): void => {
    setRefusal(null);
    onChange(to);
  };
  const take = async (file: File): Promise<void> => {
    // What is left of a file that is too large says that it is too large.
    const octets = new Uint8Array(await file.slice(0, FILE_MAX).arrayBuffer());
    change(withFile(draft, file.name, octets, file.type));
  };
  return (
    <div class="stack">
      <Chips
        label={t('records.dataAs')}
        chips={MODES.map((mode) => ({ value: mode, text: t(`records.mode_${mode}`) }))}
        chosen={draft.isFile ? 'file' : draft.mode}
        onChange={(mode) => {
          if (mode === null) return;
          const next = withMode(draft, mode as DataMode);
          if (typeof next === 'string') setRefusal(next);
          else change(next);
        }}
      />
      {refusal === null ? null : (
        <p role="alert" class="note warn">
          {t(`recordFaults.${refusal}`)}
        </p>
      )}
      {draft.isFile ? (
        <>
          <FileField
            name={draft.file?.name}
            error={error}
            describedBy={keeps}
            onFile={(file) => void take(file)}
          />
          <p id={keeps} class="dim">
            {draft.file === null ? t('records.fileKeeps') : ''}
          </p>
        </>
      ) : (
        <TextArea
          label={t('records.data')}
          value={draft.text}
          onInput={(text) => change({ ...draft, text })}
          error={error}
          hasFocus={hasFocus}
          isCode
        />
      )}
      {!draft.isFile && draft.mode === 'json' ? (
        <div class="actions">
          <Button
            isDisabled={!isJson(draft.text)}
            onClick={() => onChange({ ...draft, text: formatted(draft.text) })}
          >
            {t('records.format')}
          </Button>
          <Button
            isDisabled={!isJson(draft.text)}
            onClick={() => onChange({ ...draft, text: minified(draft.text) })}
          >
            {t('records.minify')}
          </Button>
        </div>
      ) : null}
      <Gauge
        label={t('records.size')}
        value={read.octets.length}
        max={limit}
        text={t('records.sizeOf', { used: count(read.octets.length), limit: bytes(limit) })}
      />
    </div>
  );
}
