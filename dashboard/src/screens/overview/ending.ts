/** What ends soon. */

export interface Ending {
  readonly kind: 'token' | 'key';
  readonly name: string;
  /** ISO 8601. */
  readonly at: string;
  /** Page where it is renewed. */
  readonly path: string;
}

export const SOON_MS = 7 * 86_400_000;

/** Those that end within seven days, the soonest first. What has ended is not among them. @param now milliseconds */
export function endingSoon(
  all: readonly (Omit<Ending, 'at'> & { readonly at: string | null })[],
  now: number,
): Ending[] {
  return all
    .filter((one): one is Ending => {
      const at = one.at === null ? Number.POSITIVE_INFINITY : Date.parse(one.at);
      return at > now && at - now <= SOON_MS;
    })
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at));
}
