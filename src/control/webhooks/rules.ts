import { createHash } from 'node:crypto';
import { AppError, invalid } from '../../base/errors.ts';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import { TIERS } from '../../base/limits.ts';
import type { SecretEncryption } from '../../base/seal.ts';
import type { Actor } from '../../http/actor.ts';
import { Faults, type JsonObject } from '../../protocol/input/fields.ts';
import { findNamespacesByName } from '../../store/namespaces.ts';
import type { Tx } from '../../store/store.ts';
import {
  type DeliveryRow,
  earliestDue,
  endDeliveries,
  endWaiting,
  insertDelivery,
  waitingBodies,
} from '../../store/webhooks/deliveries.ts';
import {
  closeWebhook,
  countWebhooks,
  feedHead,
  insertWebhook,
  listWebhooks,
  NEVER_SERVED,
  updateWebhook,
  type WebhookRow,
  type WebhookUpdate,
} from '../../store/webhooks/webhooks.ts';
import { makersFor, writeAs } from '../accounts/membership.ts';
import { audit, audited } from '../audit/actions.ts';
import type { HasClock, HasIds, HasRandom, HasStore, HasUnit } from '../deps.ts';
import { namespaceOfBody, testBody } from './events.ts';
import { afterEnabling, afterNewUrl } from './health.ts';
import {
  AttemptInterruptedError,
  type AttemptRequest,
  type AttemptResult,
  type SendAttempt,
} from './send-attempt.ts';
import {
  deliveryResource,
  findAuthorized,
  lockAuthorized,
  NO_SUCH_NAMESPACE,
  namespacesOf,
  readNewWebhook,
  readWebhookPatch,
  showWebhook,
  type WebhookInput,
  type WebhookResource,
  type WebhookSecrets,
  webhookResource,
  withinReach,
} from './shapes.ts';

export interface WebhookDeps extends HasStore, HasClock, HasIds, HasRandom {
  readonly encryption: SecretEncryption;
  readonly sendAttempt: SendAttempt;
  /** Checks a customer's URL, with DNS. @returns null when allowed, else a static message: `url must use https` */
  readonly checkUrl: (url: string) => Promise<string | null>;
}

/** Deliveries ended at a time. */
const BATCH = 500;
/** Bodies read at a time, 16 KB each at most. */
const BODIES = 50;

/** @throws AppError 422 for a tier without webhooks or with no more of them, and for faults in the body */
export async function createWebhook(
  deps: Omit<WebhookDeps, 'sendAttempt'> & HasUnit,
  actor: Actor,
  body: JsonObject,
): Promise<WebhookResource & WebhookSecrets> {
  requireWebhooks(actor);
  const faults = new Faults();
  const input = readNewWebhook(body, actor, faults);
  await checkExternally(deps, actor, input, faults);
  const { name, url, events, namespaces } = input;
  if (faults.any || name === undefined || url === undefined || events === undefined) {
    throw invalid(...faults.messages);
  }
  const id = deps.newId();
  const now = deps.clock();
  const { shown, stored } = makeSecrets(deps, id);
  return deps.unit(actor, async (tx) => {
    await requireQuota(tx, actor, 1);
    const row: WebhookRow = {
      id,
      customer_id: actor.customerId,
      name,
      url,
      events: JSON.stringify(events),
      namespaces: JSON.stringify(namespaces ?? []),
      enabled: 1,
      ...NEVER_SERVED,
      ...stored,
      starts_after: await feedHead(tx),
      created_at: now,
      created_by: actor.userId,
      url_by: actor.userId,
      secret_by: actor.userId,
    };
    await insertWebhook(tx, row);
    await audit(tx, actor, now, 'webhook.created', audited.webhook(row));
    return { ...(await showWebhook(tx, actor, row)), ...shown };
  });
}

/** The webhooks that the credential may manage, oldest first. */
export async function listAuthorized({ store }: HasStore, actor: Actor): Promise<WebhookResource[]> {
  const rows = await listWebhooks(store.read, actor.customerId);
  const seen = rows.filter((row) => withinReach(actor, namespacesOf(row)));
  const makerOf = await makersFor(
    store.read,
    actor,
    seen.flatMap((row) => [row.created_by, row.disabled_user]),
  );
  return seen.map((row) => webhookResource(row, makerOf));
}

/** @throws AppError 404, 403 */
export async function getWebhook(deps: HasStore, actor: Actor, id: string): Promise<WebhookResource> {
  return showWebhook(deps.store.read, actor, await findAuthorized(deps, actor, id));
}

/** Changes the supplied fields. @throws AppError 404, 403, 422 */
export async function patchWebhook(
  deps: Pick<WebhookDeps, 'store' | 'clock' | 'checkUrl'>,
  actor: Actor,
  id: string,
  body: JsonObject,
): Promise<WebhookResource> {
  await findAuthorized(deps, actor, id);
  const faults = new Faults();
  const input = readWebhookPatch(body, actor, faults);
  await checkExternally(deps, actor, input, faults);
  if (faults.any) throw invalid(...faults.messages);
  return writeAs(deps, actor, async (tx) => {
    const row = await lockAuthorized(tx, actor, id);
    const change: WebhookUpdate = {
      name: input.name ?? row.name,
      url: input.url ?? row.url,
      events: input.events === undefined ? row.events : JSON.stringify(input.events),
      namespaces: input.namespaces === undefined ? row.namespaces : JSON.stringify(input.namespaces),
      ...(await endUncovered(tx, id, input)),
      ...(input.url !== undefined &&
        input.url !== row.url && { url_by: actor.userId, health: afterNewUrl(row.health) }),
      ...(input.enabled === true && row.enabled === 0 && (await enable(tx, actor, row))),
      ...(input.enabled === false && (await disable(tx, actor, row, deps.clock()))),
    };
    const changed = await updateWebhook(tx, row, change);
    await audit(tx, actor, deps.clock(), 'webhook.changed', audited.webhook(changed));
    return showWebhook(tx, actor, changed);
  });
}

/** Closes a webhook at once. `loops.ts` deletes its history later. @throws AppError 404, 403 */
export async function deleteWebhook(deps: HasStore & HasClock, actor: Actor, id: string): Promise<void> {
  await writeAs(deps, actor, async (tx) => {
    const row = await lockAuthorized(tx, actor, id);
    await closeWebhook(tx, id);
    await audit(tx, actor, deps.clock(), 'webhook.deleted', audited.webhook(row));
  });
}

/** Ends waiting deliveries that the new events or namespaces do not cover: none leaves after the PATCH, also not to a new URL. */
async function endUncovered(
  tx: Tx,
  id: string,
  { events, namespaces = [] }: WebhookInput,
): Promise<WebhookUpdate> {
  if (events === undefined && namespaces.length === 0) return {};
  if (events !== undefined) await inBatches(() => endWaiting(tx, id, events, BATCH));
  if (namespaces.length > 0) await endOutside(tx, id, new Set(namespaces));
  return { next_due_at: await earliestDue(tx, id) };
}

/** A delivery has its namespace in its body alone. */
async function endOutside(tx: Tx, id: string, namespaces: ReadonlySet<string>): Promise<void> {
  for (let after = ''; ; ) {
    const waiting = await waitingBodies(tx, id, after, BODIES);
    const outside = waiting.filter(({ body }) => !namespaces.has(namespaceOfBody(body)));
    await endDeliveries(
      tx,
      outside.map((delivery) => delivery.id),
    );
    const last = waiting.at(-1);
    if (last === undefined || waiting.length < BODIES) return;
    after = last.id;
    await nextTurn();
  }
}

/** Restarts a webhook with later events only; waiting deliveries end. @throws AppError 422 over the limit of the tier */
async function enable(tx: Tx, actor: Actor, { id, health }: WebhookRow): Promise<WebhookUpdate> {
  requireWebhooks(actor);
  await requireQuota(tx, actor, 0);
  await inBatches(() => endWaiting(tx, id, [], BATCH));
  return {
    enabled: 1,
    failure_count: 0,
    starts_after: await feedHead(tx),
    next_due_at: null,
    rests_until: 0,
    notice_due_at: null,
    health: afterEnabling(health),
    disabled_by: null,
    disabled_at: null,
    disabled_user: null,
    cleanup: null,
  };
}

/** Ends waiting deliveries. `claim` is cleared, so an open attempt cannot settle; `claimed_until` stays, so no other starts. */
async function disable(
  tx: Tx,
  { userId }: Actor,
  { id, enabled }: WebhookRow,
  now: number,
): Promise<WebhookUpdate> {
  await inBatches(() => endWaiting(tx, id, [], BATCH));
  const by = { disabled_by: 'request', disabled_at: now, disabled_user: userId } as const;
  return { enabled: 0, next_due_at: null, claim: null, ...(enabled === 1 && by) };
}

async function inBatches(run: () => Promise<number>): Promise<void> {
  // SQLite statements are synchronous: without this, nothing else runs until the last batch.
  while ((await run()) === BATCH) await nextTurn();
}

/** Checks that need DNS or the database. Call it outside a unit of work: resolution may take seconds. */
async function checkExternally(
  { store, checkUrl }: Pick<WebhookDeps, 'store' | 'checkUrl'>,
  { customerId }: Actor,
  { url, namespaces = [] }: WebhookInput,
  faults: Faults,
): Promise<void> {
  const urlFault = url === undefined ? null : await checkUrl(url);
  if (urlFault !== null) faults.add(urlFault);
  const owned = await findNamespacesByName(store.read, namespaces, customerId);
  if (!namespaces.every((name) => owned.has(name))) faults.add(NO_SUCH_NAMESPACE);
}

/** @throws AppError 422 for a tier that has no webhooks at all */
function requireWebhooks({ tier }: Actor): void {
  if (TIERS[tier].webhooks === 0)
    throw new AppError(
      'quota_exceeded',
      'Webhooks need a paid tier, which the operator gives with: uqrp user tier EMAIL pro',
    );
}

/** Call it under the customer's lock. @throws AppError 422 when `more` webhooks exceed the tier */
async function requireQuota(tx: Tx, { customerId, tier }: Actor, more: number): Promise<void> {
  if ((await countWebhooks(tx, customerId)) + more > TIERS[tier].webhooks) {
    throw new AppError('quota_exceeded', 'Webhook limit of the account reached');
  }
}

const SECRET_OCTETS = 32;

/** Two independent secrets. `shown` goes into one response; `stored` goes into the row. */
interface NewSecrets {
  readonly shown: WebhookSecrets;
  readonly stored: Pick<WebhookRow, 'secret_digest' | 'signing_secret'>;
}

function makeSecrets(
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
  deps: Pick<WebhookDeps, 'random' | 'encryption' | 'clock'> & HasUnit,
  actor: Actor,
  id: string,
): Promise<WebhookResource & WebhookSecrets> {
  const { shown, stored } = makeSecrets(deps, id);
  return deps.unit(actor, async (tx) => {
    const row = await lockAuthorized(tx, actor, id);
    await audit(tx, actor, deps.clock(), 'webhook.secret_renewed', audited.webhook(row));
    const change = { ...stored, secret_by: actor.userId };
    return { ...(await showWebhook(tx, actor, await updateWebhook(tx, row, change))), ...shown };
  });
}

/** Attempts of one test, when the outbound thread ends during each. */
const ATTEMPTS_MAX = 3;

/**
 * Sends one `webhook.test` now, also to a disabled webhook, and writes the result to the history. A failed test is not
 * retried and changes no counter of real deliveries. Only the end of the outbound thread repeats it, under the same id.
 * @throws AppError 404, 403; 422 for a tier without webhooks, or when the URL is no longer allowed
 * @throws AttemptInterruptedError when the outbound thread ended `ATTEMPTS_MAX` times: a fault of this server, status 500
 */
export async function sendTest(deps: Omit<WebhookDeps, 'random'> & HasUnit, actor: Actor, id: string) {
  const webhook = await findAuthorized(deps, actor, id);
  requireWebhooks(actor);
  const urlFault = await deps.checkUrl(webhook.url);
  if (urlFault !== null) throw invalid(urlFault);
  const now = deps.clock();
  const deliveryId = deps.newId();
  const { error, responseCode, durationMs } = await sendUninterrupted(deps, {
    url: webhook.url,
    signingSecret: deps.encryption.decrypt(id, webhook.signing_secret),
    deliveryId,
    event: 'webhook.test',
    body: testBody(webhook, now),
  });
  const delivery: DeliveryRow = {
    id: deliveryId,
    webhook_id: id,
    event: 'webhook.test',
    seq: null,
    status: error === null ? 'succeeded' : 'failed',
    response_code: responseCode,
    error,
    attempts: 1,
    duration_ms: durationMs,
    created_at: now,
    last_attempt_at: now,
    next_attempt_at: null,
  };
  return deps.unit(actor, async (tx) => {
    const row = await lockAuthorized(tx, actor, id);
    await insertDelivery(tx, { ...delivery, body: null });
    await audit(tx, actor, now, 'webhook.tested', audited.webhook(row));
    return deliveryResource(delivery);
  });
}

async function sendUninterrupted(
  { sendAttempt }: Pick<WebhookDeps, 'sendAttempt'>,
  request: AttemptRequest,
): Promise<AttemptResult> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await sendAttempt(request);
    } catch (error) {
      // The next attempt starts another thread after its restart delay.
      if (!(error instanceof AttemptInterruptedError) || attempt >= ATTEMPTS_MAX) throw error;
    }
  }
}
