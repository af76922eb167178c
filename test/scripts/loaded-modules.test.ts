import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';

const SOURCES = new URL('../../src/', import.meta.url);
/** Imports a module, and prints the names of Node's own that are loaded then. */
const LOADED = `
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
});
