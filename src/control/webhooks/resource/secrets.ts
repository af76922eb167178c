import { createHash } from 'node:crypto';
import type { Actor } from '../../accounts/actor.ts';
import { updateWebhook, type WebhookRow } from '../../store/webhooks/webhooks.ts';
import type { WebhookDeps } from '../ports.ts';
import { holdOwnWebhook } from './authorize.ts';
import { type WebhookResource, type WebhookSecrets, webhookResource } from './webhook-resource.ts';

const SECRET_BYTES = 32;

/** Two secrets that tell nothing of each other, as they are shown once, and as they are stored. */
interface MadeSecrets {
  readonly shown: WebhookSecrets;
  readonly stored: Pick<WebhookRow, 'secret_digest' | 'signing_secret'>;
}

export function makeSecrets({ random, seal }: WebhookDeps, webhookId: string): MadeSecrets {
  const secret = Buffer.from(random(SECRET_BYTES)).toString('hex');
  const signingSecret = Buffer.from(random(SECRET_BYTES)).toString('hex');
  return {
    shown: { secret, signing_secret: signingSecret },
    stored: {
      secret_digest: createHash('sha256').update(secret, 'latin1').digest('hex'),
      signing_secret: seal.seal(webhookId, signingSecret),
    },
  };
}

/**
 * Puts both secrets of a webhook out of force and new ones in their place. Deliveries that wait are signed with the new
 * one: the secret is read at each attempt.
 *
 * @throws AppError 404, 403
 */
export async function regenerateSecrets(
  deps: WebhookDeps,
  actor: Actor,
  id: string,
): Promise<WebhookResource & WebhookSecrets> {
  const { shown, stored } = makeSecrets(deps, id);
  return deps.store.write(async (tx) => {
    await holdOwnWebhook(tx, actor, id);
    return { ...webhookResource(await updateWebhook(tx, id, stored)), ...shown };
  });
}
