import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execForm, only, parseDockerfile } from '../support/deploy/dockerfile.ts';
import { deployText } from '../support/deploy/unit-file.ts';
import { nodeOptions } from '../support/server-process.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MEGABYTE = 2 ** 20;
/** Prints the greatest size of the young objects, octets, of the main thread and of a worker, while they keep new objects. */
const GROW = `
  const { Worker, isMainThread } = require('node:worker_threads');
  const { getHeapSpaceStatistics } = require('node:v8');
  let kept = [];
  let most = 0;
  for (let i = 0; i < 2e6; i++) {
    kept.push({ i });
    if (kept.length > 2e5) kept = kept.slice(1e5);
    if (i % 2e4 > 0) continue;
    most = Math.max(most, getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size);
  }
  console.log(most);
  const resourceLimits = { maxYoungGenerationSizeMb: 48 };
  if (isMainThread) new Worker(process.argv[1], { eval: true, argv: process.argv.slice(1), resourceLimits });
`;

/** Greatest sizes of the young generation in MB: the main thread's, and a worker's that may have more. */
function youngGenerations(options: readonly string[]): readonly number[] {
  const out = execFileSync(process.execPath, [...options, '-e', `eval(process.argv[1])`, GROW], {
    encoding: 'utf8',
  });
  return out
    .trim()
    .split('\n')
    .map((octets) => Number(octets) / MEGABYTE);
}

describe('the options of Node', () => {
  const options = nodeOptions();
  const size = Number(/^--max-semi-space-size=(\d+)$/.exec(options.join(' '))?.[1]);

  it('are the same in npm start, npm run uqrp, the package and the image', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const words = ['node', ...options].join(' ');
    assert.ok(size > 0, options.join(' '));
    for (const [name, program] of [
      ['start', 'src/cli.ts'],
      ['uqrp', '"$root/src/cli.ts"'],
    ] as const)
      assert.ok(scripts[name].includes(` exec ${words} ${program}`), scripts[name]);
    const [first] = readFileSync(join(ROOT, 'bin/uqrp.js'), 'utf8').split('\n');
    assert.equal(first, `#!/usr/bin/env -S ${words}`);
    const [image] = parseDockerfile(deployText('Dockerfile')).slice(-1);
    assert.deepEqual(execForm(only(image!, 'ENTRYPOINT')), [
      '/nodejs/bin/node',
      ...options,
      '/app/bin/uqrp.js',
    ]);
  });

  it('bound the young generation of the main thread, and of workers that set a greater limit', () => {
    // Two semi-spaces, and for a while the pages of a third.
    for (const bounded of youngGenerations(options)) assert.ok(bounded <= 3 * size, `${bounded} MB`);
    for (const unbounded of youngGenerations([])) assert.ok(unbounded > 3 * size, `${unbounded} MB`);
  });
});
