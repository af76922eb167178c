import { createHash } from 'node:crypto';
import { updateWebhook, type WebhookRow } from '../../../store/webhooks/webhooks.ts';
import type { Actor } from '../../accounts/actor.ts';
import type { WebhookDeps } from '../ports.ts';
import { lockAuthorized } from './authorize.ts';
import { showWebhook, type WebhookResource, type WebhookSecrets } from './webhook-resource.ts';

const SECRET_OCTETS = 32;

/** Two independent secrets. `shown` goes into one response; `stored` goes into the row. */
interface NewSecrets {
  readonly shown: WebhookSecrets;
  readonly stored: Pick<WebhookRow, 'secret_digest' | 'signing_secret'>;
}

export function makeSecrets(
  { random, encryption }: Pick<WebhookDeps, 'random' | 'encryption'>,
  webhookId: string,
): NewSecrets {
  const secret = Buffer.from(random(SECRET_OCTETS)).toString('hex');
  const signingSecret = Buffer.from(random(SECRET_OCTETS)).toString('hex');
  return {
    shown: { secret, signing_secret: signingSecret },
    stored: {
      secret_digest: createHash('sha256').update(secret, 'latin1').digest('hex'),
      signing_secret: encryption.encrypt(webhookId, signingSecret),
    },
  };
}

/** Replaces both secrets at once. Waiting deliveries are signed with the new one. @throws AppError 404, 403 */
export async function regenerateSecrets(
  deps: Pick<WebhookDeps, 'store' | 'clock' | 'random' | 'encryption'>,
  actor: Actor,
  id: string,
): Promise<WebhookResource & WebhookSecrets> {
  const { shown, stored } = makeSecrets(deps, id);
  return deps.store.write(async (tx) => {
    const row = await lockAuthorized(tx, actor, id);
    return { ...(await showWebhook(tx, actor, await updateWebhook(tx, row, stored))), ...shown };
  });
}
