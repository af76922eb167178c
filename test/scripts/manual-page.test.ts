import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { manualPage } from '../../scripts/manual-page.ts';

const PAGE = fileURLToPath(new URL('../../man/uqrp.1', import.meta.url));
/** Programs that check or set the page, quiet when nothing is wrong. */
const READERS: Readonly<Record<string, readonly string[]>> = {
  mandoc: ['-T', 'lint', '-W', 'warning', PAGE],
  groff: ['-man', '-ww', '-b', '-T', 'utf8', '-z', PAGE],
};

describe('the manual page', () => {
  for (const [program, args] of Object.entries(READERS)) {
    it(`is read by ${program} without a warning`, (t) => {
      if (spawnSync(program, ['--version']).error !== undefined) return t.skip(`needs ${program}`);
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
      assert.deepEqual([status, stdout, stderr], [0, '', '']);
    });
  }

  it('shows texts as they are written', (t) => {
    if (spawnSync('groff', ['--version']).error !== undefined) return t.skip('needs groff');
    const about = String.raw`.dot 'quote' "double" back\slash -hyphen`;
    const facts = {
      path: ['do'],
      about: `${about} in \`code\``,
      options: [],
      arguments: [],
      commands: [],
      notes: about,
    };
    const tree = { ...facts, path: [], about: 'test', commands: [facts] };
    const input = manualPage({ tree, settings: [], version: '1.0.0', date: '2026-01-01' });
    const { stdout } = spawnSync('groff', ['-man', '-T', 'ascii', '-P', '-cbou'], {
      input,
      encoding: 'utf8',
    });
    assert.equal(stdout.split(about).length - 1, 2, stdout);
    assert.match(stdout, /in code\./);
  });
});
