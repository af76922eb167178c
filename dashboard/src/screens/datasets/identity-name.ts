const DAY_MS = 86_400_000;
const LABEL_MAX = 63;

/** Days since 1970 of `2024-02-29`. */
export function dayOf(date: string): number {
  return Math.floor(Date.parse(date) / DAY_MS);
}

/** `2024-02-29` of days since 1970. */
export function dateOfDay(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

export interface IdentityQuestion {
  readonly slug: string;
  /** Key of the item. */
  readonly item: string;
  readonly zone: string;
  /** Days since 1970; null: now. */
  readonly day: number | null;
}

/** The name that asks what held of an item; null for a key that makes no label. */
export function identityName({ slug, item, zone, day }: IdentityQuestion): string | null {
  const label = `${slug}-k-${item}${day === null ? '' : `-t-${dateOfDay(day)}`}`;
  const isLabel = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label) && item !== '' && label.length <= LABEL_MAX;
  return isLabel ? `identity.${label}.datasets.public.v1.${zone}` : null;
}
