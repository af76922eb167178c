import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SERVERS = fileURLToPath(new URL('../support/servers-in-few-ports.ts', import.meta.url));

test('a server that takes free ports takes none that another server has', (context) => {
  const output = execFileSync(process.execPath, [SERVERS], { encoding: 'utf8' }).trim();
  if (output.startsWith('skipped: ')) {
    context.skip(output.slice('skipped: '.length));
    return;
  }
  const [first, ...later] = output
    .split('\n')
    .map((line) =>
      Object.values(JSON.parse(line) as Record<string, number | null>).filter((port) => port !== null),
    );
  assert.ok(first !== undefined && later.length === 8, output);
  for (const ports of later)
    assert.deepEqual(
      ports.filter((port) => first.includes(port)),
      [],
    );
});
