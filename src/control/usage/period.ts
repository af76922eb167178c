/** A calendar month in UTC, milliseconds since the epoch: from `since` on, before `until`. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

export function monthOf(now: number): Period {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return { since: Date.UTC(year, month), until: Date.UTC(year, month + 1) };
}
