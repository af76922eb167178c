import type { WebhookWithSecrets } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';
import { SecretDialog } from '../../ui/secret-dialog.tsx';

/** The signing secret of a new or rotated webhook, once. The other secret does not sign, and is shown nowhere: it invites mistakes. */
export function SigningSecretDialog(props: {
  readonly webhook: WebhookWithSecrets;
  readonly onStored: () => void;
}) {
  return (
    <SecretDialog
      title={t('webhooks.signingSecret')}
      secret={props.webhook.signing_secret}
      onStored={props.onStored}
    >
      <p>{t('webhooks.secretUse')}</p>
    </SecretDialog>
  );
}
