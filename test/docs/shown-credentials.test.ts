import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const SHOWN = [
  '*.md',
  'docs/**/*.md',
  'sdk/*.md',
  'deploy/**/*',
  'dashboard/src/**/*.{ts,tsx,html}',
  'src/**/*.ts',
];
const ARGUMENT = /(?:-H|--header) ?["'](?:Authorization|X-API-Key): |--oauth2-bearer|--from-literal/i;

test('no command that is shown gives a credential to a program as an argument, which everybody on the machine can read', () => {
  const files = globSync(SHOWN, { cwd: ROOT, withFileTypes: true }).filter((file) => file.isFile());
  assert.ok(files.length > 500);
  const shown = files.filter((file) => ARGUMENT.test(readFileSync(join(file.parentPath, file.name), 'utf8')));
  assert.deepEqual(
    shown.map(({ name }) => name),
    [],
  );
});
