import { useEffect, useState } from 'preact/hooks';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { askBeforeLeaving } from '../../app/router.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { DataField } from './data-field.tsx';
import { EncryptionPart } from './encryption-part.tsx';
import { EnvelopePreview } from './envelope-preview.tsx';
import { faultText } from './fault-text.ts';
import { KeyBuilder } from './key-builder.tsx';
import { type Draft, type ExpiryMode, type ReadDraft, readDraft, type TimeUnit } from './record-draft.ts';
import { type Fault, limitsOf } from './record-rules.ts';

const NAMES_SHOWN = 5;

export interface RecordFormProps {
  readonly meta: Meta;
  readonly initial: Draft;
  /** A stored record keeps its key. */
  readonly isNew: boolean;
  /** Names of the user's namespaces. */
  readonly namespaces: readonly string[];
  /** Saves what was typed. A rejection is shown; the form stays. */
  readonly onSave: (read: ReadDraft, key: string) => Promise<void>;
  readonly onCancel: () => void;
}

/** Key, data, type, hint and lifetime of a record. */
export function RecordForm({ meta, initial, isNew, namespaces, onSave, onCancel }: RecordFormProps) {
  const [draft, setDraft] = useState(initial);
  const [wasTried, setTried] = useState(false);
  const { isBusy, error, run } = useAction();
  const isDirty = draft !== initial;
  useEffect(() => {
    if (!isDirty) return;
    return askBeforeLeaving(() => confirm(t('ui.unsaved')));
  }, [isDirty]);
  const limits = limitsOf(meta.limits);
  const read = readDraft(draft, limits, Date.now());
  const shownFaults = read.faults.filter(({ field }) => wasTried || wasTouched(field, draft, initial));
  const faultOf = (field: Fault['field']): string | null => {
    const found = shownFaults.find((fault) => fault.field === field);
    return found === undefined ? null : faultText(found.reason, limits);
  };
  const change = (parts: Partial<Draft>): void => setDraft({ ...draft, ...parts });
  return (
    <form
      noValidate
      class="record-form"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (read.faults.length > 0) return;
        run(async () => onSave((await draft.seal?.(draft.key, read)) ?? read, draft.key));
      }}
    >
      <TextField
        label={t('records.key')}
        value={draft.key}
        onInput={(key) => change({ key })}
        error={faultOf('key')}
        help={keyHelp(namespaces)}
        isDisabled={!isNew}
        isRequired
        isCode
        hasFocus={isNew}
      />
      {isNew ? (
        <details>
          <summary>{t('records.builder')}</summary>
          <KeyBuilder value={draft.key} namespaces={namespaces} onBuilt={(key) => change({ key })} />
        </details>
      ) : null}
      <DataField
        draft={draft}
        read={read}
        limit={limits.data}
        error={faultOf('data')}
        hasFocus={!isNew}
        onChange={setDraft}
      />
      <TextField
        label={t('records.type')}
        value={draft.contentType}
        onInput={(contentType) => change({ contentType })}
        error={faultOf('content_type')}
        options={Object.keys(meta.content_formats)}
        isCode
      />
      <Select<Draft['encoding']>
        label={t('records.encoding')}
        value={draft.encoding}
        options={[
          { value: 'b64', text: t('records.mode_base64') },
          { value: 'plain', text: t('records.plain') },
        ]}
        onChange={(encoding) => change({ encoding })}
      />
      <TextField
        label={t('records.ttl')}
        value={draft.ttl}
        onInput={(ttl) => change({ ttl })}
        error={faultOf('ttl_seconds')}
        help={t('records.ttlHelp')}
        inputMode="numeric"
      />
      <Expiry draft={draft} error={faultOf('expires')} onChange={change} />
      <EncryptionPart>
        {({ EncryptionFields }, kit) => (
          <EncryptionFields kit={kit} draft={draft} read={read} onChange={setDraft} />
        )}
      </EncryptionPart>
      {draft.seal === null ? <EnvelopePreview draft={draft} read={read} meta={meta} /> : null}
      {wasTried && read.faults.length > 0 ? (
        <div role="alert" class="note bad">
          <ul>
            {read.faults.map(({ reason }) => (
              <li key={reason}>{faultText(reason, limits)}</li>
            ))}
          </ul>
        </div>
      ) : null}
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="actions">
        <Button onClick={onCancel}>{t('ui.cancel')}</Button>
        <Button type="submit" tone="primary" isBusy={isBusy}>
          {t('records.save')}
        </Button>
      </div>
    </form>
  );
}

/** Suggestions would make a combobox of the input; a few names do as well. */
function keyHelp(namespaces: readonly string[]): string {
  const names = namespaces.slice(0, NAMES_SHOWN).join(', ');
  return names === '' ? t('records.keyHelp') : t('records.keyHelpNames', { names });
}

/** A fault is shown while its field is being typed, but not before. */
function wasTouched(field: Fault['field'], draft: Draft, initial: Draft): boolean {
  if (field === 'key') return draft.key !== initial.key;
  if (field === 'data')
    return draft.text !== initial.text || draft.file !== initial.file || draft.encoding !== initial.encoding;
  if (field === 'content_type') return draft.contentType !== initial.contentType;
  return field === 'ttl_seconds'
    ? draft.ttl !== initial.ttl
    : draft.at !== initial.at || draft.amount !== initial.amount;
}

interface ExpiryProps {
  readonly draft: Draft;
  readonly error: string | null;
  readonly onChange: (parts: Partial<Draft>) => void;
}

/** Never, in a while, or at a time: one way at once. */
function Expiry({ draft, error, onChange }: ExpiryProps) {
  return (
    <div class="bar">
      <Select<ExpiryMode>
        label={t('records.expires')}
        value={draft.expiry}
        options={[
          { value: 'never', text: t('records.never') },
          { value: 'in', text: t('records.expiresIn') },
          { value: 'at', text: t('records.expiresAt') },
        ]}
        onChange={(expiry) => onChange({ expiry })}
      />
      {draft.expiry === 'in' ? (
        <>
          <TextField
            label={t('records.amount')}
            value={draft.amount}
            onInput={(amount) => onChange({ amount })}
            error={error}
            inputMode="numeric"
          />
          <Select<TimeUnit>
            label={t('records.unit')}
            value={draft.unit}
            options={[
              { value: 'minutes', text: t('records.minutes') },
              { value: 'hours', text: t('records.hours') },
              { value: 'days', text: t('records.days') },
            ]}
            onChange={(unit) => onChange({ unit })}
          />
        </>
      ) : null}
      {draft.expiry === 'at' ? (
        <TextField
          label={t('records.time')}
          type="datetime-local"
          value={draft.at}
          onInput={(at) => onChange({ at })}
          error={error}
        />
      ) : null}
    </div>
  );
}
