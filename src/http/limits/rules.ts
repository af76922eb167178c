import { LIMITS } from '../../base/limits.ts';
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
  /** For an address: POST /auth/sign_in, but not from a browser that the mail address has signed in from. */
  signIns: [{ limit: LIMITS.signInsPerMinute, length: MINUTE }],
  /** For a mail address, known or not, and a network that asks for its codes. */
  signInsOfNetwork: [
    { limit: LIMITS.signInsPerQuarterHour, length: 15 * MINUTE },
    { limit: LIMITS.signInsPerDay, length: DAY },
  ],
  /** For a mail address and a browser that it has signed in from. */
  signInsOfBrowser: [
    { limit: LIMITS.signInsPerQuarterHour, length: 15 * MINUTE },
    { limit: LIMITS.signInCodesPerDay, length: DAY },
  ],
  /** For a mail address, known or not: codes that all networks together ask for. */
  signInCodes: [
    { limit: LIMITS.signInCodesPerQuarterHour, length: 15 * MINUTE },
    { limit: LIMITS.signInCodesPerDay, length: DAY },
  ],
  /** For an address: POST /auth/verify without an open flow. */
  verifications: [{ limit: LIMITS.verificationsPerMinute, length: MINUTE }],
  /** For an address: sign-ins that failed. Two budgets, because a full hour must not keep failures from counting for the day. */
  failedSignIns: [{ limit: LIMITS.failedSignInsPerHour, length: HOUR }],
  failedSignInsDaily: [{ limit: LIMITS.failedSignInsPerDay, length: DAY }],
  /** For an address: wrong codes without a flow. */
  triesWithoutFlow: [{ limit: LIMITS.triesWithoutFlowPerHour, length: HOUR }],
  /** For an IPv6 /48: what is limited for its /64s above. One subscriber may have 65,536 of them. */
  passkeyOptionsPer48: [{ limit: LIMITS.passkeyOptionsPer48, length: MINUTE }],
  passkeyResponsesPer48: [{ limit: LIMITS.passkeyResponsesPer48, length: MINUTE }],
  signInsPer48: [{ limit: LIMITS.signInsPer48, length: MINUTE }],
  verificationsPer48: [{ limit: LIMITS.verificationsPer48, length: MINUTE }],
  failedSignInsPer48: [{ limit: LIMITS.failedSignInsPerHourPer48, length: HOUR }],
  failedSignInsDailyPer48: [{ limit: LIMITS.failedSignInsPerDayPer48, length: DAY }],
  triesWithoutFlowPer48: [{ limit: LIMITS.triesWithoutFlowPerHourPer48, length: HOUR }],
  /** For a mail address, known or not: wrong codes without a flow. */
  triesWithoutFlowOfAddress: [{ limit: LIMITS.triesWithoutFlowPerDay, length: DAY }],
  /** For a webhook: POST /webhooks/:id/regenerate_secret. */
  webhookSecrets: [{ limit: LIMITS.webhookSecretsPerHour, length: HOUR }],
  /** For a webhook: POST /webhooks/:id/test. */
  webhookTests: [{ limit: LIMITS.webhookTestsPerMinute, length: MINUTE }],
} as const satisfies Readonly<Record<string, readonly PeriodRule[]>>;

export type Budget = keyof typeof BUDGETS;

/** Budgets of an address that an IPv6 /48 has too. */
export type NetworkBudget = Extract<Budget, `${string}Per48`> extends `${infer Name}Per48` ? Name : never;
