import { describe, test } from 'node:test';
import type { Store } from '../../../../src/control/store/store.ts';
import { apiKeyScenarios } from './accounts/api-keys.ts';
import { authenticationScenarios } from './accounts/authentication.ts';
import { cookieScenarios } from './accounts/cookies.ts';
import { accountDeletionScenarios } from './accounts/deletion.ts';
import { lockoutScenarios } from './accounts/lockout.ts';
import { networkScenarios } from './accounts/networks.ts';
import { sessionScenarios } from './accounts/sessions.ts';
import { signInScenarios } from './accounts/sign-in.ts';
import { signInLimitScenarios } from './accounts/sign-in-limits.ts';
import { tierScenarios } from './accounts/tiers.ts';
import { changeScenarios } from './changes/changes.ts';
import { wakeUpScenarios } from './changes/wake-ups.ts';
import { datasetScenarios } from './datasets/datasets.ts';
import { namespaceScenarios } from './namespaces/namespaces.ts';
import { queryTokenScenarios } from './namespaces/query-tokens.ts';
import { suspensionScenarios } from './namespaces/suspension.ts';
import { attackScenarios } from './openapi/attacks.ts';
import { madeByScenarios } from './organizations/made-by.ts';
import { memberScenarios } from './organizations/members.ts';
import { organizationScenarios } from './organizations/organizations.ts';
import { passkeyScenarios } from './passkeys/passkeys.ts';
import { passkeyRegistrationScenarios } from './passkeys/register.ts';
import { passkeySignInScenarios } from './passkeys/sign-in.ts';
import { queryLogScenarios } from './query-log/query-log.ts';
import { queryLogStreamScenarios } from './query-log/stream.ts';
import { queryLogStreamEndScenarios } from './query-log/stream-ends.ts';
import { bulkScenarios } from './records/bulk.ts';
import { listingScenarios } from './records/listing.ts';
import { preconditionScenarios } from './records/preconditions.ts';
import { recordScenarios } from './records/records.ts';
import { errorScenarios } from './requests/errors.ts';
import { headerScenarios } from './requests/headers.ts';
import { idempotencyScenarios } from './requests/idempotency.ts';
import { limitScenarios } from './requests/limits.ts';
import { messageScenarios } from './requests/messages.ts';
import { placeScenarios } from './requests/places.ts';
import { plainAnswerScenarios } from './requests/plain-answers.ts';
import { writeOctetsScenarios } from './requests/write-octets.ts';
import { serviceScenarios } from './service.ts';
import { propagationScenarios } from './usage/propagation.ts';
import { usageScenarios } from './usage/usage.ts';
import { webhookDeliveryScenarios } from './webhooks/deliveries.ts';
import { webhookInputScenarios } from './webhooks/input.ts';
import { webhookLimitScenarios } from './webhooks/limits.ts';
import { webhookScopeScenarios } from './webhooks/scopes.ts';
import { webhookTestScenarios } from './webhooks/test-deliveries.ts';
import { webhookWaitingScenarios } from './webhooks/waiting.ts';
import { webhookScenarios } from './webhooks/webhooks.ts';
import type { Scenarios } from './world.ts';

const ALL: Readonly<Record<string, Scenarios>> = {
  records: recordScenarios,
  listing: listingScenarios,
  bulk: bulkScenarios,
  namespaces: namespaceScenarios,
  'query tokens': queryTokenScenarios,
  'API keys': apiKeyScenarios,
  authentication: authenticationScenarios,
  organizations: organizationScenarios,
  'organizations, what members made': madeByScenarios,
  'organizations, members': memberScenarios,
  passkeys: passkeyScenarios,
  'passkeys, registration': passkeyRegistrationScenarios,
  'passkeys, sign-in': passkeySignInScenarios,
  datasets: datasetScenarios,
  usage: usageScenarios,
  propagation: propagationScenarios,
  'query log': queryLogScenarios,
  'sign-in': signInScenarios,
  'sign-in, limits': signInLimitScenarios,
  'sign-in, lockout': lockoutScenarios,
  'sign-in, networks': networkScenarios,
  sessions: sessionScenarios,
  'tiers of customers': tierScenarios,
  'session cookies': cookieScenarios,
  'account deletion': accountDeletionScenarios,
  'query log, stream': queryLogStreamScenarios,
  'query log, ends of streams': queryLogStreamEndScenarios,
  changes: changeScenarios,
  errors: errorScenarios,
  headers: headerScenarios,
  messages: messageScenarios,
  'plain answers': plainAnswerScenarios,
  'idempotency keys': idempotencyScenarios,
  preconditions: preconditionScenarios,
  suspension: suspensionScenarios,
  limits: limitScenarios,
  'octets of writes': writeOctetsScenarios,
  'places of listings': placeScenarios,
  'wake-ups': wakeUpScenarios,
  'attacks made from the document': attackScenarios,
  service: serviceScenarios,
  webhooks: webhookScenarios,
  'webhooks, input': webhookInputScenarios,
  'webhooks, scopes': webhookScopeScenarios,
  'webhooks, history': webhookDeliveryScenarios,
  'webhooks, what waits': webhookWaitingScenarios,
  'webhooks, tests': webhookTestScenarios,
  'webhooks, limits': webhookLimitScenarios,
};

/** Registers every scenario of the API against a store; `open` is called before the first and `close` after the last. */
export function apiScenarios(
  engine: string,
  open: () => Promise<{ store: Store; close(): Promise<void> }>,
): void {
  describe(`the API on ${engine}`, async () => {
    const opened = await open();
    for (const [group, scenarios] of Object.entries(ALL)) {
      describe(group, () => {
        for (const [name, run] of Object.entries(scenarios)) test(name, () => run(opened.store));
      });
    }
    test('the store closes', () => opened.close());
  });
}
