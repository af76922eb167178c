import { useRef, useState } from 'preact/hooks';
import type { WebhookResource, WebhookWithSecrets } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { createRepeatKeys } from '../../data/repeat-key.ts';
import { invalidate, setResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { SigningSecretDialog } from './signing-secret-dialog.tsx';
import { WebhookForm } from './webhook-form.tsx';

/** The form of a new webhook, and after it the secrets, once. */
export function NewWebhook({ onClose }: { readonly onClose: () => void }) {
  const [made, setMade] = useState<WebhookWithSecrets | null>(null);
  const [isBusy, setBusy] = useState(false);
  const keys = useRef(createRepeatKeys());
  if (made !== null) return <SigningSecretDialog webhook={made} onStored={onClose} />;
  return (
    <Dialog title={t('webhooks.new')} canClose={!isBusy} onClose={onClose}>
      <WebhookForm
        submit={t('webhooks.create')}
        onBusy={setBusy}
        onSubmit={async (webhook) => {
          // The answer is the only one with the secret: nothing closes the form until it is here.
          setMade(await api.webhooks.create(webhook, { idempotencyKey: keys.current(webhook) }));
          invalidate('webhooks');
          invalidate('usage');
        }}
      />
    </Dialog>
  );
}

/** The same form for one that exists. */
export function EditWebhook(props: {
  readonly webhook: WebhookResource;
  /** The focus is in the URL at first. */
  readonly startsAtUrl?: boolean;
  readonly onClose: () => void;
}) {
  const { webhook, startsAtUrl = false, onClose } = props;
  return (
    <Dialog title={t('webhooks.edit')} onClose={onClose}>
      <WebhookForm
        webhook={webhook}
        startsAtUrl={startsAtUrl}
        submit={t('webhooks.save')}
        onSubmit={async (_, changed) => {
          if (Object.keys(changed).length > 0) {
            setResource(`webhook ${webhook.id}`, await api.webhooks.update(webhook.id, changed));
            invalidate('webhooks');
          }
          onClose();
        }}
      />
    </Dialog>
  );
}
