/**
 * What a tab does when it learns whose session the cookie is of.
 * `reload`: of another user than the page, or for another organization. `leave`: of nobody, by a sign-out. `resume`: of the same user again.
 * `keep`: nothing changed.
 * @param phase of the session of the tab
 * @param shown whose data the tab shows, as `identityOf` spells it
 * @param actual whose session the cookie is of; null: nobody's
 */
export function tabStep(
  phase: 'in' | 'lost',
  shown: string,
  actual: string | null,
): 'keep' | 'leave' | 'reload' | 'resume' {
  if (actual === null) return 'leave';
  if (actual !== shown) return 'reload';
  return phase === 'lost' ? 'resume' : 'keep';
}
