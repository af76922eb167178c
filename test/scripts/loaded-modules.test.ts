import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startUqrp } from '../support/server-process.ts';

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

interface Loaded {
  readonly packages: ReadonlySet<string>;
  /** Paths in `src/`. */
  readonly sources: ReadonlySet<string>;
}

function namesOf(urls: readonly string[]): Loaded {
  const all = (pattern: RegExp): Set<string> => new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []));
  return {
    packages: all(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    sources: all(/^file:.*\/src\/((?!.*\/node_modules\/).+)$/),
  };
}

/** What a whole server without a feed has loaded when it listens, its threads included. */
async function loadedByServer(): Promise<Loaded> {
  const dir = mkdtempSync(join(tmpdir(), 'uqrp-loaded-'));
  const list = join(dir, 'list');
  const hooks = `data:text/javascript,${encodeURIComponent(`
    import { appendFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, next) {
        appendFileSync(${JSON.stringify(list)}, url + '\\n');
        return next(url, context);
      },
    });
  `)}`;
  const cli = fileURLToPath(new URL('cli.ts', SOURCES));
  const server = await startUqrp({}, undefined, [], ['--import', hooks, cli, 'serve', '--json']);
  try {
    return namesOf(readFileSync(list, 'utf8').split('\n'));
  } finally {
    await server.remove();
    rmSync(dir, { recursive: true });
  }
}

describe('what a start loads', () => {
  for (const entry of ['main.ts', 'edge-worker.ts', 'health-worker.ts', 'outbound-worker.ts']) {
    it(`is without fetch in ${entry}: an import of node:http would load it`, () => {
      const loaded = loadedBy(`process/${entry}`);
      assert.ok(loaded.includes('NativeModule http'), 'node:http is loaded');
      assert.ok(!loaded.includes('NativeModule internal/deps/undici/undici'));
    });
  }

  it('is without packages and modules of features that are not in use', async () => {
    const { packages, sources } = await loadedByServer();
    assert.ok(packages.has('fastify'));
    const late = ['@nats-io/transport-node', '@simplewebauthn/server', 'ajv', 'nodemailer', 'pg'];
    assert.deepEqual(
      late.filter((name) => packages.has(name)),
      [],
    );
    assert.ok(sources.has('process/control/control-side.ts'));
    const ofNodes = [
      'process/control/control-feed.ts',
      'process/edge/edge-feed.ts',
      'feed/publish/publisher.ts',
    ];
    assert.deepEqual(
      ofNodes.filter((name) => sources.has(name)),
      [],
    );
  });

  it('of an edge node is without SQL and the REST API', () => {
    const loaded = ['process/main.ts', 'process/edge/edge-role.ts', 'process/edge/edge-feed.ts'].flatMap(
      loadedBy,
    );
    const { packages, sources } = namesOf(loaded);
    assert.ok(sources.has('feed/receive/bus-source.ts'));
    assert.ok(!packages.has('pg'));
    assert.ok(!sources.has('store/sqlite/sqlite-store.ts'));
    assert.ok(!sources.has('http/server.ts'));
  });
});
