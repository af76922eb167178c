import { LIMITS } from '../base/limits.ts';
import type { Clock } from '../base/time.ts';

export interface PeriodRule {
  readonly limit: number;
  /** Milliseconds. */
  readonly length: number;
}

/** It starts with the first hit of a key, at `startedAt`: milliseconds since the epoch. */
export interface Period {
  readonly startedAt: number;
  readonly count: number;
}

/** True also for a period in the future: the clock was set back. */
function isOver(period: Period, length: number, now: number): boolean {
  return now >= period.startedAt + length || now < period.startedAt;
}

export function hit(period: Period | undefined, length: number, now: number, hits = 1): Period {
  if (period === undefined || isOver(period, length, now)) return { startedAt: now, count: hits };
  return { startedAt: period.startedAt, count: period.count + hits };
}

/** Removes hits counted at `takenAt`; no change when the period started later. */
function withoutHit(period: Period, takenAt: number, hits = 1): Period {
  if (period.startedAt > takenAt) return period;
  return { startedAt: period.startedAt, count: Math.max(0, period.count - hits) };
}

/**
 * Returns 0 when the period admits so many more hits, else the whole seconds until it does, at least 1. Counts nothing.
 * @param hits at most the limit of the rule
 */
export function secondsToWait(period: Period | undefined, rule: PeriodRule, now: number, hits = 1): number {
  if (period === undefined || isOver(period, rule.length, now) || period.count + hits <= rule.limit) return 0;
  return Math.max(1, Math.ceil((period.startedAt + rule.length - now) / 1000));
}

/** How much of a period is used. */
interface BudgetUse {
  readonly used: number;
  readonly limit: number;
  /** Whole seconds until `used` is 0 again, at least 1; 0: nothing is used. */
  readonly resets_in: number;
}

export function useOf(period: Period | undefined, { limit, length }: PeriodRule, now: number): BudgetUse {
  if (period === undefined || period.count === 0 || isOver(period, length, now))
    return { used: 0, limit, resets_in: 0 };
  const left = period.startedAt + length - now;
  return { used: period.count, limit, resets_in: Math.max(1, Math.ceil(left / 1000)) };
}

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** Budgets of the REST API (docs/API.md, Limits). A request must fit into every period of its budget. */
export const BUDGETS = {
  /** For an address: requests without a valid credential, and to unknown routes. */
  unauthenticated: [{ limit: LIMITS.unauthenticatedPerMinute, length: MINUTE }],
  /** For a customer, over all credentials. */
  authenticated: [{ limit: LIMITS.authenticatedPerMinute, length: MINUTE }],
  /** For an address: evaluations of flags. */
  flags: [{ limit: LIMITS.flagsPerMinute, length: MINUTE }],
  /** For a namespace: evaluations of its flags. */
  flagsOfNamespace: [{ limit: LIMITS.flagsPerMinuteOfNamespace, length: MINUTE }],
  /** For an address: the transparency log, as DNS over HTTPS. */
  transparencyLog: [{ limit: LIMITS.dohRequestsPerMinute, length: MINUTE }],
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

export interface Limiter {
  /**
   * Counts hits, all of them, and returns 0; without room for them counts none and returns whole seconds to wait, at least 1.
   * @param hits at most the least limit of the budget; 1 if omitted
   */
  take(budget: Budget, key: string, hits?: number): number | Promise<number>;
  /** Each period of the budget, in the order of the table. Null: nothing is limited. Counts nothing. */
  used(budget: Budget, key: string): readonly BudgetUse[] | null | Promise<readonly BudgetUse[] | null>;
  /** Removes hits, 1 if omitted, counted at `takenAt`, milliseconds since the epoch, from periods that had begun by then. */
  giveBack(budget: Budget, key: string, takenAt: number, hits?: number): void | Promise<void>;
}

interface MemoryLimiter extends Limiter {
  used(budget: Budget, key: string): readonly BudgetUse[];
  take(budget: Budget, key: string, hits?: number): number;
  giveBack(budget: Budget, key: string, takenAt: number, hits?: number): void;
}

/** UQRP_REST_RATE=off. */
export const unlimited: Limiter = { take: () => 0, used: () => null, giveBack: () => {} };

/** Keys of one budget. Above it some are deleted, so that a flood does not fill memory. */
const KEYS_MAX = 100_000;

type KeyedPeriods = Map<string, readonly (Period | undefined)[]>;

/** Each budget has its own map: a flood of addresses deletes no customer. */
export function memoryLimiter(clock: Clock, keysMax: number = KEYS_MAX): MemoryLimiter {
  const maps = new Map<Budget, KeyedPeriods>();
  return {
    take(budget, key, hits = 1) {
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const now = clock();
      const map = mapOf(maps, budget);
      const periods = map.get(key) ?? [];
      const wait = Math.max(...rules.map((rule, i) => secondsToWait(periods[i], rule, now, hits)));
      if (wait > 0) return wait;
      if (!map.has(key) && map.size >= keysMax) makeRoom(map, rules, now, keysMax);
      map.set(
        key,
        rules.map((rule, i) => hit(periods[i], rule.length, now, hits)),
      );
      return 0;
    },
    used(budget, key) {
      const rules: readonly PeriodRule[] = BUDGETS[budget];
      const periods = mapOf(maps, budget).get(key) ?? [];
      return rules.map((rule, i) => useOf(periods[i], rule, clock()));
    },
    giveBack(budget, key, takenAt, hits = 1) {
      const map = mapOf(maps, budget);
      const periods = map.get(key);
      if (periods !== undefined)
        map.set(
          key,
          periods.map((period) => period && withoutHit(period, takenAt, hits)),
        );
    },
  };
}

function mapOf(maps: Map<Budget, KeyedPeriods>, budget: Budget): KeyedPeriods {
  const known = maps.get(budget);
  if (known !== undefined) return known;
  const made: KeyedPeriods = new Map();
  maps.set(budget, made);
  return made;
}

/**
 * Deletes periods that are over; when none is, a tenth of the keys: those with the fewest hits, of these the oldest. A flood of keys
 * that are used once does not reset a key that is near its limit.
 */
function makeRoom(map: KeyedPeriods, rules: readonly PeriodRule[], now: number, keysMax: number): void {
  for (const [key, periods] of map) {
    const over = rules.every((rule, i) => periods[i] === undefined || isOver(periods[i], rule.length, now));
    if (over) map.delete(key);
  }
  let excess = map.size < keysMax ? 0 : Math.ceil(keysMax / 10);
  for (let hits = 1; excess > 0; hits *= 2) {
    for (const [key, periods] of map) {
      if (excess === 0) return;
      if (periods.some((period) => period !== undefined && period.count > hits)) continue;
      map.delete(key);
      excess--;
    }
  }
}
