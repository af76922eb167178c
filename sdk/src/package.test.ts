import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { installed, tarball } from '../../test/support/sdk/packed.ts';
import { VERSION } from './rest/http/http.ts';

const run = promisify(execFile);
const ATTW = fileURLToPath(
  new URL('../../node_modules/@arethetypeswrong/cli/dist/index.js', import.meta.url),
);

describe('the package as it is published', () => {
  let folder: string;
  let file: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uqrp-package-'));
    file = await tarball();
    await installed(folder, ['@openfeature/server-sdk', '@openfeature/core']);
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  });
  after(() => rm(folder, { recursive: true }));

  it('publint finds nothing', async () => {
    const { messages } = await publint({ pkgDir: join(folder, 'node_modules/uqrp-sdk'), strict: true });
    assert.deepEqual(messages, []);
  });

  it('attw finds no wrong types', async () => {
    const { stdout } = await run(process.execPath, [ATTW, file, '--profile', 'esm-only', '--format', 'json']);
    const { analysis } = JSON.parse(stdout) as {
      analysis: { entrypoints: object; problems: readonly { kind: string; resolutionKind?: string }[] };
    };
    assert.deepEqual(Object.keys(analysis.entrypoints), [
      '.',
      './dns',
      './encryption',
      './webhooks',
      './transparency',
      './openfeature',
      './package.json',
    ]);
    // The profile leaves out CommonJS: `require` of an ES module works from Node 20.19 on.
    const serious = analysis.problems.filter(
      ({ kind }) => kind !== 'CJSResolvesToESM' && kind !== 'NoResolution',
    );
    assert.deepEqual(serious, []);
  });

  it('has its files, and no tests, no scripts of installation and no dependencies', async () => {
    const { stdout } = await run('tar', ['-tzf', file]);
    const names = stdout
      .trim()
      .split('\n')
      .map((name) => name.slice('package/'.length));
    for (const name of [
      'LICENSE',
      'README.md',
      'CHANGELOG.md',
      'dist/sdk/src/uqrp-sdk.js',
      'dist/sdk/src/uqrp-sdk.d.ts',
      'dist/src/protocol/names/query-name.js',
      'dist/src/protocol/names/query-name.d.ts',
      'src/webhooks/verify.ts',
    ]) {
      assert.ok(names.includes(name), name);
    }
    assert.deepEqual(
      names.filter((name) => /test|tsconfig|\.tgz/.test(name)),
      [],
    );
    const manifest = JSON.parse(await readFile(join(folder, 'node_modules/uqrp-sdk/package.json'), 'utf8'));
    assert.equal(manifest.version, VERSION);
    assert.equal(manifest.dependencies, undefined);
    assert.deepEqual(Object.keys(manifest.scripts), ['build', 'prepack']);
  });

  it('loads without a module of Node, except for flags, which OpenFeature needs', async () => {
    const path = join(folder, 'load.mjs');
    await writeFile(
      path,
      `import { registerHooks } from 'node:module';
       const loaded = [];
       registerHooks({ resolve: (name, context, next) => { loaded.push(name); return next(name, context); } });
       for (const entry of ['uqrp-sdk', 'uqrp-sdk/dns', 'uqrp-sdk/encryption', 'uqrp-sdk/webhooks', 'uqrp-sdk/transparency']) await import(entry);
       console.log(JSON.stringify(loaded.filter((name) => !/^\\.|^uqrp-sdk/.test(name))));`,
    );
    assert.equal((await run(process.execPath, [path])).stdout.trim(), '[]');
  });

  it('keeps the names that it had', async () => {
    const path = join(folder, 'names.mjs');
    await writeFile(
      path,
      `for (const e of ['uqrp-sdk', 'uqrp-sdk/webhooks']) console.log(Object.keys(await import(e)).join());`,
    );
    const [main = '', webhooks = ''] = (await run(process.execPath, [path])).stdout.split('\n');
    assert.equal(webhooks, 'WebhookVerificationError,explainSignature,verifyWebhook,verifyWebhookAsync');
    for (const name of [
      'WebhookVerificationError',
      'verifyWebhook',
      'verifyWebhookAsync',
      'Uqrp',
      'ApiError',
    ])
      assert.ok(main.split(',').includes(name), name);
  });
});
