import type { NewWebhook, WebhookEvent, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useDraft } from '../../data/drafts.ts';
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
  readonly onSubmit: (webhook: NewWebhook) => Promise<void>;
  /** The dialog must stay while the answer is on its way. */
  readonly onBusy?: (isBusy: boolean) => void;
}

interface WebhookDraft {
  readonly name: string;
  readonly url: string;
  /** What is not ticked: the list of events may come after the form is there, and all are ticked. */
  readonly left: ReadonlySet<string>;
  readonly only: ReadonlySet<string>;
}

/** Name, URL, events and namespaces. When it is refused, the form stays as it is. */
export function WebhookForm({ webhook, startsAtUrl = false, submit, onSubmit, onBusy }: WebhookFormProps) {
  const meta = useMeta();
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }));
  const draft = useDraft<WebhookDraft>(`webhook ${webhook?.id ?? ''}`, {
    name: webhook?.name ?? '',
    url: webhook?.url ?? '',
    left: new Set(),
    only: new Set(webhook?.scopes.namespaces ?? []),
  });
  const { name, url, left, only } = draft.value;
  const known = meta.value?.webhook_events ?? [];
  const isTicked = (event: WebhookEvent): boolean =>
    webhook === undefined ? !left.has(event) : webhook.events.includes(event) !== left.has(event);
  const events = known.map((event) => event.name).filter(isTicked);
  // A deleted namespace stays in the list that names it.
  const names = new Set([...(namespaces.value ?? []).map((one) => one.name), ...only]);
  const save = (): Promise<void> =>
    onSubmit({ name, url: url.trim(), events, scopes: { namespaces: [...only] } });
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
        onInput={(typed) => draft.change({ name: typed })}
        isRequired
        hasFocus={!startsAtUrl}
      />
      <TextField
        label={t('webhooks.url')}
        value={url}
        onInput={(typed) => draft.change({ url: typed })}
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
            isChecked={isTicked(event.name)}
            onChange={() => draft.change({ left: toggled(left, event.name) })}
          />
        ))}
        {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : null}
      </fieldset>
      <NamePicker
        label={t('webhooks.namespaces')}
        help={t('webhooks.namespacesHelp')}
        names={[...names]}
        chosen={only}
        onChange={(chosen) => draft.change({ only: chosen })}
      />
    </DialogForm>
  );
}

function toggled(set: ReadonlySet<string>, value: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}
