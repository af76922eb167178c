/** Commands of the pages for operators that failed as they were written, or did half of what the page promised. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { textOf } from './named-tests.ts';

const PAGES = globSync('docs/operations/*.md', { cwd: fileURLToPath(new URL('../../', import.meta.url)) });

/** Blocks of shell commands with their page. */
const BLOCKS = PAGES.flatMap((page) =>
  [...textOf(page).matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, text]) => ({ page, text: text! })),
);

describe('commands for operators', () => {
  it('back up into a folder that the user of the server may write to, as /var/backups is not', () => {
    const backups = BLOCKS.filter(({ text }) => /\buqrp(?:-admin)? backup \/var\/backups/.test(text));
    assert.ok(backups.length >= 3);
    for (const { page, text } of backups) {
      assert.match(
        text,
        /^install -d -o uqrp [^\n]*\/var\/backups\/uqrp\b[\s\S]* backup \/var\/backups\/uqrp\//m,
        page,
      );
    }
  });

  it('import from standard input, since the user of the server does not reach the folder of root', () => {
    const imports = BLOCKS.flatMap(({ text }) => [...text.matchAll(/\buqrp(?:-admin)? import .*/g)]);
    assert.ok(imports.length >= 2);
    for (const [line] of imports) assert.match(line, / import \w+ - < /);
  });

  it('upgrade a checkout with its dashboard, which is in no commit', () => {
    const [line = ''] = /^.*git pull.*$/m.exec(textOf('docs/operations/upgrade.md')) ?? [];
    assert.match(line, /npm ci && npm run build && .*restart/);
  });
});
