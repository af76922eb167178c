/** Part of the allowance, in percent, from which on the state is `near`. */
const NEAR_PERCENT = 80;

export const SOFT_CAP_STATES = ['within', 'near', 'over'] as const;

/** How much of its allowance a customer has used. For display: nothing is refused for it. */
export interface SoftCapState {
  readonly state: (typeof SOFT_CAP_STATES)[number];
  readonly allowance: number;
  readonly used: number;
  /** One decimal, rounded down: 100 means that the whole allowance is used. */
  readonly percent: number;
}

export function softCapState(used: number, allowance: number): SoftCapState {
  const percent = Math.floor((used * 1000) / allowance) / 10;
  const state = used > allowance ? 'over' : percent >= NEAR_PERCENT ? 'near' : 'within';
  return { state, allowance, used, percent };
}
