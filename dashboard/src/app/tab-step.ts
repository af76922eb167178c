/**
 * What a tab does when it learns whose session the cookie is of.
 * `reload`: of another user than the page. `lose`: of nobody. `resume`: of the same user again. `keep`: nothing changed.
 * @param phase of the session of the tab
 * @param shown id of the user whose data the tab shows
 * @param actual id of the user of the cookie; null: nobody
 */
export function tabStep(
  phase: 'in' | 'lost',
  shown: string,
  actual: string | null,
): 'keep' | 'lose' | 'reload' | 'resume' {
  if (actual === null) return phase === 'in' ? 'lose' : 'keep';
  if (actual !== shown) return 'reload';
  return phase === 'lost' ? 'resume' : 'keep';
}
