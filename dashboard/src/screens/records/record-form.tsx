import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Meta } from '../../../../sdk/src/uqrp-sdk.ts';
import { useDraft } from '../../data/drafts.ts';
import { t } from '../../text/text.ts';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { DataField } from './data-field.tsx';
import { EncryptionPart } from './encryption-part.tsx';
import { EnvelopePreview } from './envelope-preview.tsx';
import { faultText } from './fault-text.ts';
import { KeyBuilder } from './key-builder.tsx';
import {
  type Draft,
  type ExpiryMode,
  type ReadDraft,
  readDraft,
  type TimeUnit,
  withWholeKey,
} from './record-draft.ts';
import { type Fault, limitsOf } from './record-rules.ts';

const NAMES_SHOWN = 5;

export interface RecordFormProps {
  readonly meta: Meta;
  readonly initial: Draft;
  /** What was typed elsewhere already. */
  readonly begun?: Draft | undefined;
  /** A stored record keeps its key. */
  readonly isNew: boolean;
  /** Names of the user's namespaces. */
  readonly namespaces: readonly string[];
  /** Under it what was typed is kept when the form goes without a save. */
  readonly name: string;
  /** Saves what was typed. A rejection is shown; the form stays. `kept`: it is not saved yet. */
  readonly onSave: (read: ReadDraft, draft: Draft) => Promise<unknown>;
  /** What can be done about a rejection. `read` reads what is typed by then. */
  readonly help?: (error: unknown, read: () => ReadDraft, key: string) => ComponentChildren;
}

/** Key, data, type, hint and lifetime of a record. */
export function RecordForm(props: RecordFormProps) {
  const { meta, initial, begun, isNew, namespaces, name, onSave, help } = props;
  // What is to be encrypted must not come back as a draft that is saved as it is.
  const kept = useDraft(name, initial, ({ seal }) => seal === null, begun);
  const { value: typed, set: setDraft } = kept;
  const draft = withWholeKey(typed);
  const [tries, setTries] = useState(0);
  const wasTried = tries > 0;
  const limits = limitsOf(meta.limits);
  const readNow = (): ReadDraft => readDraft(draft, limits, Date.now());
  const read = readNow();
  const shownFaults = read.faults.filter(({ field }) => wasTried || wasTouched(field, draft, initial));
  const faultOf = (field: Fault['field']): string | null => {
    const found = shownFaults.find((fault) => fault.field === field);
    return found === undefined ? null : faultText(found.reason, limits);
  };
  const { change } = kept;
  const isFolded = MORE.every((field) => faultOf(field) === null);
  return (
    <DialogForm
      submit={t('records.save')}
      draft={kept}
      hasOwnChecks
      onSubmit={() => {
        setTries(tries + 1);
        // A while that begins with the save; a time that was to come when it was typed may be over.
        const now = readNow();
        if (now.faults.length > 0) return null;
        return (async () => onSave((await draft.seal?.(draft.key, now)) ?? now, draft))();
      }}
      {...(help !== undefined && { help: (error: unknown) => help(error, readNow, draft.key) })}
      note={
        wasTried && read.faults.length > 0 ? (
          <div role="alert" class="note bad">
            <ul>
              {read.faults.map(({ reason }) => (
                <li key={reason}>{faultText(reason, limits)}</li>
              ))}
            </ul>
          </div>
        ) : null
      }
    >
      <TextField
        label={t('records.key')}
        word="key"
        value={typed.key}
        onInput={(key) => change({ key })}
        error={faultOf('key')}
        help={draft.key === typed.key ? keyHelp(namespaces) : t('records.keyWhole', { key: draft.key })}
        isDisabled={!isNew}
        isRequired
        isCode
        hasFocus={isNew}
      />
      <DataField
        draft={draft}
        read={read}
        limit={limits.data}
        error={faultOf('data')}
        hasFocus={!isNew}
        onChange={setDraft}
      />
      {isNew ? (
        <details>
          <summary>{t('records.builder')}</summary>
          <KeyBuilder value={draft.key} namespaces={namespaces} onBuilt={(key) => change({ key })} />
        </details>
      ) : null}
      <details class="more-fields" open={isFolded ? undefined : true}>
        <summary>
          {t('records.moreFields')} <span class="dim">{moreText(draft)}</span>
        </summary>
        <div class="stack">
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
            word="encoding"
            value={draft.encoding}
            options={[
              { value: 'b64', text: t('records.mode_base64') },
              { value: 'plain', text: t('records.plain') },
            ]}
            onChange={(encoding) => change({ encoding })}
          />
          <TextField
            label={t('records.ttl')}
            word="cacheTime"
            value={draft.ttl}
            onInput={(ttl) => change({ ttl })}
            error={faultOf('ttl_seconds')}
            help={t('records.ttlHelp')}
            inputMode="numeric"
          />
          <Expiry draft={draft} error={faultOf('expires')} onChange={change} />
        </div>
      </details>
      <EncryptionPart>
        {({ EncryptionFields }, kit) => (
          <EncryptionFields kit={kit} draft={draft} read={read} onChange={setDraft} />
        )}
      </EncryptionPart>
      {draft.seal === null ? <EnvelopePreview draft={draft} read={read} meta={meta} /> : null}
    </DialogForm>
  );
}

const MORE = ['content_type', 'ttl_seconds', 'expires'] as const satisfies readonly Fault['field'][];

/** What the folded fields say. */
function moreText({ contentType, ttl, expiry, amount, unit, at }: Draft): string {
  const ends = {
    never: t('records.neverExpires'),
    in: `${amount} ${t(`records.${unit}`)}`,
    at: at.replace('T', ' '),
  };
  return t('records.moreNow', { type: contentType, ttl, expires: ends[expiry] });
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
        word="expiry"
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
