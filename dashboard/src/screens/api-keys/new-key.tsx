import { useRef, useState } from 'preact/hooks';
import type { ApiOperation, CreatedApiKey, NewApiKey } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useDraft } from '../../data/drafts.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { invalidate, useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { NamePicker } from '../../ui/name-picker.tsx';
import { SecretDialog } from '../../ui/secret-dialog.tsx';
import { endAfter, keyCommand, keyWords } from './key-words.ts';

/** The form of a new key, and after it the key, once. */
export function NewKey({ onClose }: { readonly onClose: () => void }) {
  const [made, setMade] = useState<CreatedApiKey | null>(null);
  if (made === null) return <KeyForm onMade={setMade} onClose={onClose} />;
  return (
    <SecretDialog title={t('apiKeys.apiKey')} secret={made.token} onStored={onClose}>
      {keyWords(made.scopes).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      <p>{t('apiKeys.inVariable')}</p>
      <CodeBlock code={keyCommand(`${location.origin}/api/v1`, made.scopes)} label="curl" />
      <p class="dim">{t('apiKeys.scanning')}</p>
    </SecretDialog>
  );
}

const OPERATIONS = { both: [], read: ['read'], write: ['write'] } as const satisfies Readonly<
  Record<string, readonly ApiOperation[]>
>;
type Choice = keyof typeof OPERATIONS;
const DAYS = { never: null, '30': 30, '90': 90, '365': 365 } as const;
type End = keyof typeof DAYS;

interface KeyDraft {
  readonly name: string;
  readonly choice: Choice;
  readonly only: ReadonlySet<string>;
  readonly end: End;
}

interface KeyFormProps {
  readonly onMade: (key: CreatedApiKey) => void;
  readonly onClose: () => void;
}

function KeyForm({ onMade, onClose }: KeyFormProps) {
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }));
  const draft = useDraft<KeyDraft>('api-key', { name: '', choice: 'both', only: new Set(), end: 'never' });
  const { name, choice, only, end } = draft.value;
  const [isBusy, setBusy] = useState(false);
  const keys = useRef(createRepeatKeys());
  const scopes = { operations: OPERATIONS[choice], namespaces: [...only] };
  const create = async (): Promise<void> => {
    const key: NewApiKey = { name, scopes, expires_at: endAfter(DAYS[end], nextHour()) };
    const made = await api.apiKeys.create(key, { idempotencyKey: keys.current(key) });
    invalidate('api-keys');
    invalidate('usage');
    onMade(made);
  };
  return (
    <Dialog title={t('apiKeys.new')} canClose={!isBusy} onClose={onClose}>
      <DialogForm submit={t('apiKeys.create')} draft={draft} onBusy={setBusy} onSubmit={create}>
        <TextField
          label={t('apiKeys.name')}
          value={name}
          onInput={(typed) => draft.change({ name: typed })}
          help={t('apiKeys.nameHelp')}
          isRequired
          hasFocus
        />
        <Select<Choice>
          label={t('apiKeys.operations')}
          word="scope"
          value={choice}
          options={[
            { value: 'both', text: t('apiKeys.readWrite') },
            { value: 'read', text: t('apiKeys.read') },
            { value: 'write', text: t('apiKeys.write') },
          ]}
          onChange={(chosen) => draft.change({ choice: chosen })}
        />
        <NamePicker
          label={t('apiKeys.namespaces')}
          help={t('apiKeys.namespacesHelp')}
          names={(namespaces.value ?? []).map((one) => one.name)}
          chosen={only}
          onChange={(chosen) => draft.change({ only: chosen })}
        />
        <Select<End>
          label={t('apiKeys.ends')}
          value={end}
          options={[
            { value: 'never', text: t('apiKeys.never') },
            { value: '30', text: t('apiKeys.days', { days: 30 }) },
            { value: '90', text: t('apiKeys.days', { days: 90 }) },
            { value: '365', text: t('apiKeys.days', { days: 365 }) },
          ]}
          onChange={(chosen) => draft.change({ end: chosen })}
        />
        <div class="note" role="status">
          {keyWords(scopes).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      </DialogForm>
    </Dialog>
  );
}

/** The end of this hour: a second try sends the same end, so that it gets the first answer. */
function nextHour(): number {
  const hour = 3_600_000;
  return Math.ceil(Date.now() / hour) * hour;
}
