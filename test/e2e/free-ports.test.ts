import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const SERVERS = fileURLToPath(new URL('../support/servers-in-few-ports.ts', import.meta.url));
const own = ['--net', ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'])];
const skip =
  spawnSync('unshare', [...own, 'ip', 'link', 'set', 'lo', 'up']).status === 0
    ? false
    : 'no network of its own can be had here';

test('a server that takes free ports takes none that another server has', { skip }, () => {
  const output = execFileSync(
    'unshare',
    [...own, 'sh', '-c', 'ip link set lo up && exec "$@"', 'own-network', process.execPath, SERVERS],
    { encoding: 'utf8' },
  );
  const [first, ...later] = output
    .trim()
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
