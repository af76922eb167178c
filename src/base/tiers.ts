export const TIERS = {
  free: { records: 1_000, webhooks: 0, allowance: 100_000 },
  pro: { records: 50_000, webhooks: 5, allowance: 5_000_000 },
  team: { records: 500_000, webhooks: 20, allowance: 50_000_000 },
  enterprise: { records: 1_000_000, webhooks: 100, allowance: 500_000_000 },
} as const;

export type Tier = keyof typeof TIERS;

export function isTier(text: string): text is Tier {
  return Object.hasOwn(TIERS, text);
}
