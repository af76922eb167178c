import { useState } from 'preact/hooks';
import type { WebhookResource, WebhookWithSecrets } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { invalidate } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { SigningSecretDialog } from './signing-secret-dialog.tsx';

/** What the secret is for, and a new one in its place. */
export function SecretTab({ webhook }: { readonly webhook: WebhookResource }) {
  const [isAsking, setAsking] = useState(false);
  const [rotated, setRotated] = useState<WebhookWithSecrets | null>(null);
  return (
    <>
      <p>{t('webhooks.secretText')}</p>
      <p>{t('webhooks.rotateText')}</p>
      <div class="actions">
        <Button tone="danger" onClick={() => setAsking(true)}>
          {t('webhooks.rotate')}
        </Button>
      </div>
      {isAsking ? (
        <ConfirmDialog
          title={t('webhooks.rotateTitle')}
          confirm={t('webhooks.rotate')}
          onConfirm={async () => {
            setRotated(await api.webhooks.rotateSecret(webhook.id));
            invalidate(`webhook ${webhook.id}`);
          }}
          onClose={() => setAsking(false)}
        >
          <p>{t('webhooks.rotateWarning')}</p>
        </ConfirmDialog>
      ) : null}
      {rotated === null ? null : <SigningSecretDialog webhook={rotated} onStored={() => setRotated(null)} />}
    </>
  );
}
