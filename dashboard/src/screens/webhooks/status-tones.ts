/** Colours of the states of a delivery. Their names say the same. */
export const STATUS_TONES = { pending: 'warn', succeeded: 'good', failed: 'bad', dropped: 'bad' } as const;
