import { LIMITS } from '../../core/limits.ts';
import type { PeriodRule } from './period.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

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
  /** For an address: POST /passkeys/options and /auth/passkeys/options. */
  passkeyOptions: [{ limit: LIMITS.passkeyOptionsPerMinute, length: MINUTE }],
  /** For an address: POST /passkeys and /auth/passkeys/verify. */
  passkeyResponses: [{ limit: LIMITS.passkeyResponsesPerMinute, length: MINUTE }],
  /** For a user: POST /organizations/:id/invitations. */
  invitations: [{ limit: LIMITS.invitationsPerHour, length: HOUR }],
  /** For an address: POST /auth/sign_in. */
  signIns: [{ limit: LIMITS.signInsPerMinute, length: MINUTE }],
  /** For a mail address, known or not. */
  signInCodes: [{ limit: LIMITS.signInsPerQuarterHour, length: 15 * MINUTE }],
  /** For an address: POST /auth/verify. */
  verifications: [{ limit: LIMITS.verificationsPerMinute, length: MINUTE }],
  /** For an address: sign-ins that failed. */
  failedSignIns: [
    { limit: LIMITS.failedSignInsPerHour, length: HOUR },
    { limit: LIMITS.failedSignInsPerDay, length: DAY },
  ],
  /** For an IPv6 /48: what is limited for its /64s above. One subscriber may have 65,536 of them. */
  passkeyOptionsPer48: [{ limit: LIMITS.passkeyOptionsPer48, length: MINUTE }],
  passkeyResponsesPer48: [{ limit: LIMITS.passkeyResponsesPer48, length: MINUTE }],
  signInsPer48: [{ limit: LIMITS.signInsPer48, length: MINUTE }],
  verificationsPer48: [{ limit: LIMITS.verificationsPer48, length: MINUTE }],
  failedSignInsPer48: [
    { limit: LIMITS.failedSignInsPerHourPer48, length: HOUR },
    { limit: LIMITS.failedSignInsPerDayPer48, length: DAY },
  ],
  /** For a mail address, known or not: codes that were wrong. */
  failedCodes: [
    { limit: LIMITS.failedCodesPerHour, length: HOUR },
    { limit: LIMITS.failedCodesPerDay, length: DAY },
  ],
  /** For a webhook: POST /webhooks/:id/regenerate_secret. */
  webhookSecrets: [{ limit: LIMITS.webhookSecretsPerHour, length: HOUR }],
  /** For a webhook: POST /webhooks/:id/test. */
  webhookTests: [{ limit: LIMITS.webhookTestsPerMinute, length: MINUTE }],
} as const satisfies Readonly<Record<string, readonly PeriodRule[]>>;

export type Budget = keyof typeof BUDGETS;

/** Budgets of an address that an IPv6 /48 has too. */
export type NetworkBudget = Extract<Budget, `${string}Per48`> extends `${infer Name}Per48` ? Name : never;
