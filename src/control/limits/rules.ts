import { LIMITS } from '../../core/limits.ts';
import type { PeriodRule } from './period.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;

/** The budgets of the REST API (docs/API.md, Limits). A request is admitted if every period of its budget has room. */
export const BUDGETS = {
  /** Per address; requests without credentials, with bad ones, and to unknown routes. */
  unauthenticated: [{ limit: LIMITS.unauthenticatedPerMinute, length: MINUTE }],
  /** Per customer, whichever credential is used. */
  authenticated: [{ limit: LIMITS.authenticatedPerMinute, length: MINUTE }],
  /** Per customer: POST, PATCH and DELETE. */
  writes: [
    { limit: LIMITS.writesPerMinute, length: MINUTE },
    { limit: LIMITS.writesPerHour, length: HOUR },
  ],
  /** Per webhook: POST /webhooks/:id/regenerate_secret. */
  webhookSecrets: [{ limit: LIMITS.webhookSecretsPerHour, length: HOUR }],
  /** Per webhook: POST /webhooks/:id/test. */
  webhookTests: [{ limit: LIMITS.webhookTestsPerMinute, length: MINUTE }],
} as const satisfies Readonly<Record<string, readonly PeriodRule[]>>;

export type Budget = keyof typeof BUDGETS;

/** The longest any period lasts, in milliseconds: older ones can be forgotten. */
export const LONGEST_PERIOD = HOUR;
