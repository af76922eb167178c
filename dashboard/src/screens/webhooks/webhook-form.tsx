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

/** Name, URL, events and namespaces. When it is refused, the form stays as it is. */
export function WebhookForm({ webhook, startsAtUrl = false, submit, onSubmit, onBusy }: WebhookFormProps) {
  const meta = useMeta();
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }));
  // The page reads the webhook again while the form is open.
  const [before] = useState(webhook);
  const known = meta.value?.webhook_events ?? [];
  const initial: Fields = {
    name: before?.name ?? '',
    url: before?.url ?? '',
    events: new Set(before?.events ?? known.map((event) => event.name)),
    only: new Set(before?.scopes.namespaces ?? []),
  };
  const draft = useDraft<Partial<Fields>>(`webhook ${webhook?.id ?? ''}`, {});
  const { name, url, events, only } = { ...initial, ...draft.value };
  const change = <Name extends keyof Fields>(field: Name, value: Fields[Name]): void => {
    draft.set((typed) => {
      const { [field]: _, ...others } = typed;
      return isSame([value], [initial[field]]) ? others : { ...others, [field]: value };
    });
  };
  // A deleted namespace stays in the list that names it.
  const names = new Set([...(namespaces.value ?? []).map((one) => one.name), ...only]);
  const save = (): Promise<void> => {
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
