/** Encrypted values: a pasted key decrypts and encrypts them in this page. It is loaded when it is needed first. */
import { effect, signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import {
  decryptPayload,
  type EncryptionKey,
  encryptPayload,
  type OpenedPayload,
  readKeyFile,
} from '../../../../sdk/src/encryption.ts';
import { encodeBase64 } from '../../../../src/protocol/encodings.ts';
import { type Session, session } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import type { CheckboxProps, TextAreaProps } from '../../ui/field.tsx';
import type { TimeProps } from '../../ui/time.tsx';
import type { Draft, ReadDraft, StoredRecord } from './record-draft.ts';

/** What the screen hands over. */
export interface Kit {
  readonly Checkbox: ComponentType<CheckboxProps>;
  readonly TextArea: ComponentType<TextAreaProps>;
  readonly Time: ComponentType<TimeProps>;
  readonly draftOf: (record: StoredRecord) => Draft;
}

type Keys = readonly [EncryptionKey, ...EncryptionKey[]];

/** Of the pasted key file, in memory only, and who pasted it: another person may sign in on this page. The first key encrypts. */
const pasted = signal<{ readonly keys: Keys; readonly user: string } | null>(null);

effect(() => {
  if (pasted.value !== null && pasted.value.user !== userOf(session.value)) pasted.value = null;
});

function keysOfPage(): Keys | null {
  return pasted.value?.keys ?? null;
}

function userOf(now: Session): string {
  return 'user' in now ? now.user.id : '';
}

/** Takes the key of the page, or shows which one is used. */
function KeyOfPage({ kit }: { readonly kit: Kit }) {
  const { TextArea } = kit;
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string | null>(null);
  const keys = keysOfPage();
  if (keys !== null) {
    return (
      <div class="actions">
        <span>{t('encryption.key', { id: keys[0].id })}</span>
        <Button
          onClick={() => {
            pasted.value = null;
          }}
        >
          {t('encryption.forget')}
        </Button>
      </div>
    );
  }
  const take = async (): Promise<void> => {
    try {
      pasted.value = { keys: await readKeyFile(text), user: userOf(session.value) };
    } catch (error) {
      setFault((error as Error).message);
    }
  };
  return (
    <>
      <TextArea
        label={t('encryption.keys')}
        value={text}
        onInput={setText}
        help={t('encryption.help')}
        error={fault}
        rows={2}
        isCode
      />
      <Button onClick={() => void take()}>{t('encryption.use')}</Button>
    </>
  );
}

interface Result {
  readonly opened: OpenedPayload | null;
  readonly fault: string | null;
}

export interface EncryptedValueProps {
  readonly kit: Kit;
  readonly recordKey: string;
  readonly octets: Uint8Array;
  readonly show: (data: Uint8Array<ArrayBuffer>) => ComponentChildren;
}

/** An encrypted value as its text, once there is a key. */
export function EncryptedValue({ kit, recordKey, octets, show }: EncryptedValueProps) {
  const keys = keysOfPage();
  const [{ opened, fault }, setResult] = useState<Result>({ opened: null, fault: null });
  const content = String(octets);
  useEffect(() => {
    setResult({ opened: null, fault: null });
    if (keys === null) return;
    let isCurrent = true;
    const give = (result: Result): void => {
      if (isCurrent) setResult(result);
    };
    decryptPayload(keys, recordKey, octets).then(
      (value) => give({ opened: value, fault: null }),
      (error: Error) => give({ opened: null, fault: error.message }),
    );
    return () => {
      isCurrent = false;
    };
  }, [keys, recordKey, content]);
  return (
    <section class="card stack">
      <p>{t(opened === null ? 'encryption.encrypted' : 'encryption.decrypted')}</p>
      {fault === null ? null : (
        <p role="alert" class="note bad">
          {fault}
        </p>
      )}
      {opened === null ? null : show(opened.data)}
      {opened?.time == null ? null : (
        <p class="dim">
          {t('encryption.written')} <kit.Time at={new Date(opened.time).toISOString()} form="exact" />
        </p>
      )}
      <KeyOfPage kit={kit} />
    </section>
  );
}

export interface EncryptionFieldsProps {
  readonly kit: Kit;
  readonly draft: Draft;
  readonly read: ReadDraft;
  readonly onChange: (draft: Draft) => void;
}

/** Part of the form of a record: decrypts what it holds, and encrypts it when it is saved. */
export function EncryptionFields({ kit, draft, read, onChange }: EncryptionFieldsProps) {
  const { Checkbox, draftOf } = kit;
  const [fault, setFault] = useState<string | null>(null);
  const keys = keysOfPage();
  const [form = 0] = read.octets;
  const decrypt = async (using: Keys): Promise<void> => {
    try {
      const { data, time } = await decryptPayload(using, draft.key, read.octets);
      const value = { ...read.fields, key: draft.key, data: encodeBase64(data), expires_at: null };
      const { mode, text, isCrlf } = draftOf(value);
      setFault(null);
      onChange({ ...draft, mode, text, isCrlf, isFile: false, file: null, seal: sealWith(using, time) });
    } catch (error) {
      setFault((error as Error).message);
    }
  };
  return (
    <details>
      <summary>{t('encryption.title')}</summary>
      <div class="stack">
        <KeyOfPage kit={kit} />
        {keys === null ? null : (
          <Checkbox
            label={t('encryption.onSave')}
            isChecked={draft.seal !== null}
            onChange={(isOn) => onChange({ ...draft, seal: isOn ? sealWith(keys, null) : null })}
          />
        )}
        {keys !== null && draft.seal === null && (form === 1 || form === 2) ? (
          <Button onClick={() => void decrypt(keys)}>{t('encryption.decrypt')}</Button>
        ) : null}
        {fault === null ? null : (
          <p role="alert" class="note bad">
            {fault}
          </p>
        )}
      </div>
    </details>
  );
}

/** Encrypts what the form has read. @param after time of the value that is replaced */
function sealWith([first]: Keys, after: number | null): NonNullable<Draft['seal']> {
  return async (key, read) => {
    const octets = await encryptPayload(first, key, read.octets, { after });
    const fields = {
      ...read.fields,
      data: encodeBase64(octets),
      content_type: 'application/octet-stream',
    };
    return { ...read, octets, fields };
  };
}
