import { LIMITS } from '../../core/limits.ts';
import type { PeriodRule } from './period.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;

/** Budgets of the REST API (docs/API.md, Limits). A request must fit into every period of its budget. */
export const BUDGETS = {
  /** For an address: requests without a valid credential, and to unknown routes. */
  unauthenticated: [{ limit: LIMITS.unauthenticatedPerMinute, length: MINUTE }],
  /** For a customer, over all credentials. */
  authenticated: [{ limit: LIMITS.authenticatedPerMinute, length: MINUTE }],
  /** For a customer: POST, PATCH and DELETE. */
  writes: [
    { limit: LIMITS.writesPerMinute, length: MINUTE },
    { limit: LIMITS.writesPerHour, length: HOUR },
  ],
  /** For a webhook: POST /webhooks/:id/regenerate_secret. */
  webhookSecrets: [{ limit: LIMITS.webhookSecretsPerHour, length: HOUR }],
  /** For a webhook: POST /webhooks/:id/test. */
  webhookTests: [{ limit: LIMITS.webhookTestsPerMinute, length: MINUTE }],
} as const satisfies Readonly<Record<string, readonly PeriodRule[]>>;

export type Budget = keyof typeof BUDGETS;

/** Milliseconds. Older periods can be deleted. */
export const LONGEST_PERIOD = HOUR;
