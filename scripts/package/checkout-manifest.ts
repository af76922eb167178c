/** The package.json of the checkout, which the one of the package replaces while npm packs. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const KEPT = 'package.json.checkout';

/** Writes the package's manifest and keeps the checkout's in a file beside it. */
export function replaceManifest(root: string, packed: object): void {
  writeFileSync(join(root, KEPT), readFileSync(join(root, 'package.json')));
  writeFileSync(join(root, 'package.json'), json(packed));
}

/**
 * Puts the checkout's manifest back, also after an `npm pack` that was killed, and removes npm-shrinkwrap.json: `npm ci` would take it
 * instead of package-lock.json. A package.json with scripts is the checkout's, perhaps of a later commit than the kept one, and stays.
 */
export function restoreManifest(root: string): void {
  rmSync(join(root, 'npm-shrinkwrap.json'), { force: true });
  const kept = join(root, KEPT);
  if (!existsSync(kept)) return;
  if (isCheckouts(join(root, 'package.json'))) rmSync(kept);
  else renameSync(kept, join(root, 'package.json'));
}

/** The package's manifest has no scripts. One that a kill cut short is no JSON. */
function isCheckouts(path: string): boolean {
  try {
    return 'scripts' in (JSON.parse(readFileSync(path, 'utf8')) as object);
  } catch {
    return false;
  }
}

export function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
