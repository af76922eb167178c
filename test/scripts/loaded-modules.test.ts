import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';

const SOURCES = new URL('../../src/', import.meta.url);
/** Imports a module, and prints the names of Node's own modules and the URLs of all others that are loaded then. */
const LOADED = `
  const { registerHooks } = process.getBuiltinModule('node:module');
  registerHooks({
    load(url, context, next) {
      console.log(url);
      return next(url, context);
    },
  });
  await import(process.argv[1]).catch((error) => {
    if (error.message !== 'this module is the body of a worker thread') throw error;
  });
  console.log(process.moduleLoadList.join('\\n'));
`;

function loadedBy(entry: string): readonly string[] {
  const args = ['--input-type=module', '-e', LOADED, new URL(entry, SOURCES).href];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).split('\n');
}

describe('what a start loads', () => {
  for (const entry of ['main.ts', 'edge-worker.ts', 'outbound-worker.ts']) {
    it(`is without fetch in ${entry}: an import of node:http would load it`, () => {
      const loaded = loadedBy(entry);
      assert.ok(loaded.includes('NativeModule http'), 'node:http is loaded');
      assert.ok(!loaded.includes('NativeModule internal/deps/undici/undici'));
    });
  }

  it('is without packages of features that are not in use', () => {
    const packages = loadedBy('main.ts').flatMap(
      (url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? [],
    );
    assert.ok(packages.includes('fastify'));
    const late = ['@simplewebauthn/server', 'nodemailer', 'pg', '@nats-io/transport-node'];
    assert.deepEqual(
      late.filter((name) => packages.includes(name)),
      [],
    );
  });
});
