import type { Outcome } from '../records/bulk-job.ts';
import type { Plan } from './plan.ts';

export type ResultKind = 'created' | 'replaced' | 'same' | 'refused' | 'not_done';

interface ResultLine {
  readonly line: number;
  readonly key: string;
  readonly result: ResultKind;
  readonly message?: string;
}

/**
 * What became of every row of a file, as JSON lines.
 * @param outcomes by key
 * @param explain the words for a row that the page refused
 */
export function resultFile(
  plan: Plan,
  outcomes: ReadonlyMap<string, Outcome>,
  explain: (reason: string) => string,
): string {
  const lines = plan.rows.map(({ line, key, change, refusal }): ResultLine => {
    if (change === 'same') return { line, key, result: 'same' };
    if (change === 'refused') return { line, key, result: 'refused', message: explain(refusal ?? '') };
    const outcome = outcomes.get(key);
    if (outcome === undefined) return { line, key, result: 'not_done' };
    if (outcome.kind === 'refused') return { line, key, result: 'refused', message: outcome.message };
    return { line, key, result: change === 'new' ? 'created' : 'replaced' };
  });
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}
