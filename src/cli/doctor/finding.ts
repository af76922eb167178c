/** What one check found. `note`: nothing is wrong, or this machine cannot check it. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'note' | 'wrong';
  /** What was found; where it is wrong, what to do. */
  readonly text: string;
}

export const ok = (check: string, text: string): Finding => ({ check, state: 'ok', text });
export const note = (check: string, text: string): Finding => ({ check, state: 'note', text });
export const wrong = (check: string, text: string): Finding => ({ check, state: 'wrong', text });
