import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { it } from 'node:test';
import { ENVIRONMENT } from './env.ts';

const DOCS = new URL('../../../docs/', import.meta.url);

/** What the command of `uqrp watch --exec` finds in its environment (`cli/actions/watch.ts`). */
const GIVEN: readonly string[] = ['UQRP_EVENT', 'UQRP_KEY', 'UQRP_NAMESPACE', 'UQRP_ETAG', 'UQRP_CURSOR'];

/** What `npm run release` reads (`scripts/release/main.ts`). */
const RELEASE = ['UQRP_RELEASE_KEY', 'UQRP_RELEASE_SNAPSHOT'];

/** Its constants are named like variables. */
const HEADER = readFileSync(new URL('../../../device/uqrp.h', import.meta.url), 'utf8');
const CONSTANTS = new Set([...HEADER.matchAll(/\bUQRP_[A-Z_]+\b/g)].map(([name]) => name));

it('documents name no variable that does not exist', () => {
  const pages = readdirSync(DOCS, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md') && !name.startsWith('adr/'));
  for (const page of pages) {
    const text = readFileSync(new URL(page, DOCS), 'utf8');
    for (const [name] of text.matchAll(/\bUQRP_[A-Z_]+\b/g))
      assert.ok(
        name in ENVIRONMENT || [...GIVEN, ...RELEASE].includes(name) || CONSTANTS.has(name),
        `${name} in ${page}`,
      );
  }
});
