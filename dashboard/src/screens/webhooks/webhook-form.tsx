import { useState } from 'preact/hooks';
import type { NewWebhook, WebhookEvent, WebhookResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useResource } from '../../data/resource.ts';
import { useAction } from '../../data/use-action.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Checkbox, TextField } from '../../ui/field.tsx';

export interface WebhookFormProps {
  /** The one that is changed. */
  readonly webhook?: WebhookResource;
  /** Text of the button. */
  readonly submit: string;
  readonly onSubmit: (webhook: NewWebhook) => Promise<void>;
  readonly onCancel: () => void;
}

/** Name, URL, events and namespaces. When it is refused, the form stays as it is. */
export function WebhookForm({ webhook, submit, onSubmit, onCancel }: WebhookFormProps) {
  const meta = useMeta();
  const namespaces = useResource('namespaces', (signal) => api.namespaces.list({ signal }));
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setUrl] = useState(webhook?.url ?? '');
  // What is not ticked: the list of events may come after the form is there, and all are ticked.
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [only, setOnly] = useState<ReadonlySet<string>>(new Set(webhook?.scopes.namespaces ?? []));
  const { isBusy, error, run } = useAction();
  const known = meta.value?.webhook_events ?? [];
  const isTicked = (event: WebhookEvent): boolean =>
    webhook === undefined ? !left.has(event) : webhook.events.includes(event) !== left.has(event);
  const events = known.map((event) => event.name).filter(isTicked);
  // A deleted namespace stays in the list that names it.
  const names = new Set([...(namespaces.value ?? []).map((one) => one.name), ...only]);
  const save = (): Promise<void> =>
    onSubmit({ name, url: url.trim(), events, scopes: { namespaces: [...only] } });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        run(save);
      }}
    >
      <TextField label={t('webhooks.name')} value={name} onInput={setName} isRequired hasFocus />
      <TextField
        label={t('webhooks.url')}
        value={url}
        onInput={setUrl}
        type="text"
        inputMode="text"
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
            onChange={() => setLeft(toggled(left, event.name))}
          />
        ))}
        {meta.state === 'failed' ? <ErrorNote error={meta.error} again={meta.again} /> : null}
      </fieldset>
      {names.size === 0 ? null : (
        <fieldset class="ticks">
          <legend>{t('webhooks.namespaces')}</legend>
          <p class="field-help">{t('webhooks.namespacesHelp')}</p>
          {[...names].map((namespace) => (
            <Checkbox
              key={namespace}
              label={namespace}
              isChecked={only.has(namespace)}
              onChange={() => setOnly(toggled(only, namespace))}
            />
          ))}
        </fieldset>
      )}
      {error === undefined ? null : <ErrorNote error={error} />}
      <div class="actions">
        <Button isDisabled={isBusy} onClick={onCancel}>
          {t('ui.cancel')}
        </Button>
        <Button type="submit" tone="primary" isBusy={isBusy} isDisabled={meta.state === 'loading'}>
          {submit}
        </Button>
      </div>
    </form>
  );
}

function toggled(set: ReadonlySet<string>, value: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}
