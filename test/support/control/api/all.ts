import { describe, test } from 'node:test';
import type { Store } from '../../../../src/control/store/store.ts';
import { apiKeyScenarios } from './api-keys.ts';
import { authenticationScenarios } from './authentication.ts';
import { bulkScenarios } from './bulk.ts';
import { changeScenarios } from './changes.ts';
import { errorScenarios } from './errors.ts';
import { headerScenarios } from './headers.ts';
import { idempotencyScenarios } from './idempotency.ts';
import { limitScenarios } from './limits.ts';
import { listingScenarios } from './listing.ts';
import { messageScenarios } from './messages.ts';
import { namespaceScenarios } from './namespaces.ts';
import { preconditionScenarios } from './preconditions.ts';
import { queryTokenScenarios } from './query-tokens.ts';
import { recordScenarios } from './records.ts';
import { suspensionScenarios } from './suspension.ts';
import { wakeUpScenarios } from './wake-ups.ts';
import { webhookDeliveryScenarios } from './webhook-deliveries.ts';
import { webhookInputScenarios } from './webhook-input.ts';
import { webhookLimitScenarios } from './webhook-limits.ts';
import { webhookScopeScenarios } from './webhook-scopes.ts';
import { webhookTestScenarios } from './webhook-tests.ts';
import { webhookWaitingScenarios } from './webhook-waiting.ts';
import { webhookScenarios } from './webhooks.ts';
import type { Scenarios } from './world.ts';

const ALL: Readonly<Record<string, Scenarios>> = {
  records: recordScenarios,
  listing: listingScenarios,
  bulk: bulkScenarios,
  namespaces: namespaceScenarios,
  'query tokens': queryTokenScenarios,
  'API keys': apiKeyScenarios,
  authentication: authenticationScenarios,
  changes: changeScenarios,
  errors: errorScenarios,
  headers: headerScenarios,
  messages: messageScenarios,
  'idempotency keys': idempotencyScenarios,
  preconditions: preconditionScenarios,
  suspension: suspensionScenarios,
  limits: limitScenarios,
  'wake-ups': wakeUpScenarios,
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
