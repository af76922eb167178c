import { useState } from 'preact/hooks';
import type {
  NewWebhook,
  WebhookEvent,
  WebhookPatch,
  WebhookResource,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { isSame, useDraft } from '../../data/drafts.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { DialogForm } from '../../ui/dialog-form.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Checkbox, TextField } from '../../ui/field.tsx';
import { NamePicker } from '../../ui/name-picker.tsx';

export interface WebhookFormProps {
  /** The one that is changed. */
  readonly webhook?: WebhookResource;
  /** The focus is in the URL at first. */
  readonly startsAtUrl?: boolean;
  /** Text of the button. */
  readonly submit: string;
  /** @param changed what is not as it was when the form opened: somebody else may have changed the rest meanwhile */
  readonly onSubmit: (webhook: NewWebhook, changed: WebhookPatch) => Promise<void>;
  /** The dialog must stay while the answer is on its way. */
  readonly onBusy?: (isBusy: boolean) => void;
}

interface Fields {
  readonly name: string;
  readonly url: string;
  readonly events: ReadonlySet<WebhookEvent>;
  readonly only: ReadonlySet<string>;
}

/** What is changed, and what all was when that began: also where it was left, and is restored later. */
type Typed = Partial<Fields> & { readonly base?: Fields };

const LABELS = {
  name: 'webhooks.name',
  url: 'webhooks.url',
  events: 'webhooks.events',
  only: 'webhooks.namespaces',
} as const;
const FIELDS = Object.keys(LABELS) as readonly (keyof Fields)[];

function fieldsOf({ name, url, events, scopes }: WebhookResource): Fields {
  return { name, url, events: new Set(events), only: new Set(scopes.namespaces) };
}

function wordsOf(value: Fields[keyof Fields]): string {
  if (typeof value === 'string') return value;
  return value.size === 0 ? t('webhooks.all') : [...value].join(', ');
}

/** Name, URL, events and namespaces. When it is refused, the form stays as it is. */
export function WebhookForm({ webhook, startsAtUrl = false, submit, onSubmit, onBusy }: WebhookFormProps) {
  const meta = useMeta();
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }));
  // The page reads the webhook again while the form is open.
  const [before] = useState(webhook);
  const known = meta.value?.webhook_events ?? [];
  const initial: Fields =
    before === undefined
      ? { name: '', url: '', events: new Set(known.map((event) => event.name)), only: new Set() }
      : fieldsOf(before);
  const draft = useDraft<Typed>(`webhook ${webhook?.id ?? ''}`, {});
  const mine = { ...initial, ...draft.value };
  const { name, url, events, only } = mine;
  const change = <Name extends keyof Fields>(field: Name, value: Fields[Name]): void => {
    draft.set((typed) => {
      const { [field]: _, base = initial, ...others } = typed;
      const changed = isSame([value], [initial[field]]) ? others : { ...others, [field]: value };
      return Object.keys(changed).length === 0 ? {} : { ...changed, base };
    });
  };
  /** What somebody else has set meanwhile in fields that are changed here too. */
  const [other, setOther] = useState<Partial<Fields>>({});
  // A deleted namespace stays in the list that names it.
  const names = new Set([...(namespaces.value ?? []).map((one) => one.name), ...only]);
  const save = async (): Promise<unknown> => {
    const { base } = draft.value;
    if (before !== undefined && base !== undefined) {
      const now = fieldsOf(await api.webhooks.get(before.id));
      const both = FIELDS.filter(
        (field) =>
          field in draft.value &&
          !isSame([now[field]], [base[field]]) &&
          !isSame([now[field]], [mine[field]]),
      );
      setOther(Object.fromEntries(both.map((field) => [field, now[field]])));
      if (both.length > 0) {
        draft.change({ base: now });
        return 'kept';
      }
    }
    const whole = { name, url: url.trim(), events: [...events], scopes: { namespaces: [...only] } };
    return onSubmit(whole, {
      ...('name' in draft.value && { name }),
      ...('url' in draft.value && { url: whole.url }),
      ...('events' in draft.value && { events: whole.events }),
      ...('only' in draft.value && { scopes: whole.scopes }),
    });
  };
  return (
    <DialogForm
      submit={submit}
      draft={draft}
      {...(onBusy !== undefined && { onBusy })}
      isDisabled={meta.state === 'loading'}
      onSubmit={save}
      note={FIELDS.map((field) => {
        const value = other[field];
        if (value === undefined) return null;
        return (
          <p key={field} role="alert" class="note bad">
            {t('webhooks.otherSet', { field: t(LABELS[field]), value: wordsOf(value) })}
          </p>
        );
      })}
    >
      <TextField
        label={t('webhooks.name')}
        value={name}
        onInput={(typed) => change('name', typed)}
        isRequired
        hasFocus={!startsAtUrl}
      />
      <TextField
        label={t('webhooks.url')}
        value={url}
        onInput={(typed) => change('url', typed)}
        type="text"
        inputMode="text"
        hasFocus={startsAtUrl}
        placeholder="https://hooks.example.com/uqrp"
        help={t('webhooks.urlHelp')}
        isRequired
        isCode
      />
      <fieldset class="ticks">
        <legend>{t('webhooks.events')}</legend>
        {known.map((event) => (
          <Checkbox
            key={event.name}
            label={event.name}
            help={event.description}
            isChecked={events.has(event.name)}
            onChange={() => change('events', toggled(events, event.name))}
          />
        ))}
        {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : null}
      </fieldset>
      <NamePicker
        label={t('webhooks.namespaces')}
        help={t('webhooks.namespacesHelp')}
        names={[...names]}
        chosen={only}
        onChange={(chosen) => change('only', chosen)}
      />
    </DialogForm>
  );
}

function toggled<Value>(set: ReadonlySet<Value>, value: Value): ReadonlySet<Value> {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}
