import { statement } from './engine/statement.ts';
import type { Store } from './store.ts';
import { readFact, writeFactOnce } from './tables/service-facts.ts';

/** A hundred are tried, the newest first: some may be left from before an earlier change of the secret. */
const NEWEST = statement<object, { id: string; signing_secret: Uint8Array }>(
  'select id, signing_secret from webhooks order by created_at desc limit 100',
);

/** Whether the signing secret of a webhook can be decrypted. */
export type OpensWebhook = (webhookId: string, encrypted: Uint8Array) => boolean;

/**
 * Compares the secret's fingerprint with the one that the database was made with, and writes it where there is none yet. A database
 * of a release that stored no fingerprint may have webhooks: then the secret must open one of them.
 * @returns whether it is the same secret
 */
export async function isSecretOfStore(
  store: Store,
  fingerprint: string,
  opens: OpensWebhook,
): Promise<boolean> {
  const held = await readFact(store.read, 'secret_fingerprint');
  if (held !== null) return held === fingerprint;
  const webhooks = await NEWEST.all(store.read, {});
  if (webhooks.length > 0 && !webhooks.some((one) => opens(one.id, one.signing_secret))) return false;
  return (await store.write((tx) => writeFactOnce(tx, 'secret_fingerprint', fingerprint))) === fingerprint;
}
