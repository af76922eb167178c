/** The manual page of this checkout. */

import { factsOf } from '../../src/cli/completion/tree.ts';
import { buildProgram } from '../../src/cli/program.ts';
import { ENVIRONMENT } from '../../src/ops/config/env.ts';
import { releaseVersion } from '../../src/ops/config/version.ts';
import { manualPage } from './page.ts';

/** @param date of its last change: 2026-11-22 */
export function currentManual(date: string): string {
  const program = buildProgram({
    clock: Date.now,
    takeSignals: () => {
      throw new Error('no command runs here');
    },
  });
  const settings = Object.entries(ENVIRONMENT).map(([name, row]) => ({
    name,
    meaning: row.meaning,
    standard: 'shown' in row ? row.shown : row.fallback,
  }));
  return manualPage({ tree: factsOf(program), settings, version: releaseVersion(), date });
}
