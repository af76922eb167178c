import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { packTarGz, tidy } from '../../scripts/release/archive.ts';
import { debianVersion } from '../../scripts/release/debian.ts';
import { machineOf } from '../../scripts/release/program.ts';
import { materials } from '../../scripts/release/sbom.ts';
import { VERSION } from '../../sdk/src/rest/http/http.ts';

/** test/ci/release.ts builds and installs all files of a release, which takes minutes. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EPOCH = 1_700_000_000;

function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'uqrp-release-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('what is published', () => {
  const packages = ['package.json', 'sdk/package.json'].map((path) => JSON.parse(textOf(path)));

  it('has one version, and may be published with provenance', () => {
    assert.deepEqual(new Set([...packages.map(({ version }) => version), VERSION]).size, 1);
    for (const { private: isPrivate, publishConfig, repository } of packages) {
      assert.equal(isPrivate, undefined);
      assert.deepEqual(publishConfig, { access: 'public', provenance: true });
      assert.equal(repository.url, packages[0].repository.url);
    }
  });

  it('a version before a release is one for Debian as well', () => {
    assert.equal(debianVersion('0.3.0-rc.1'), '0.3.0~rc.1');
    assert.equal(debianVersion('0.3.0'), '0.3.0');
  });

  it('the workflow runs the command, with pinned actions and no more rights than each job needs', () => {
    const text = textOf('.github/workflows/release.yml');
    const { jobs, permissions } = parse(text) as {
      jobs: Record<string, { permissions: object; steps: { uses?: string; run?: string }[] }>;
      permissions: object;
    };
    assert.deepEqual(permissions, {});
    assert.deepEqual(Object.fromEntries(Object.entries(jobs).map(([name, job]) => [name, job.permissions])), {
      build: { contents: 'read' },
      publish: { contents: 'write', 'id-token': 'write', attestations: 'write' },
      npm: { 'id-token': 'write' },
    });
    const used = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ uses }) => uses ?? []));
    assert.ok(used.length > 5);
    assert.deepEqual(
      used.filter((name) => !/^actions\/[\w-]+@[0-9a-f]{40}$/.test(name)),
      [],
    );
    assert.ok(jobs.build!.steps.some(({ run }) => run?.includes('npm run release\n')));
    // A value of GitHub in a shell line could hold another command.
    for (const { steps } of Object.values(jobs))
      for (const { run = '' } of steps) assert.doesNotMatch(run, /\$\{\{/);
  });
});

describe('an archive', () => {
  it('has the same octets from files of other times, modes and orders', async (t) => {
    const sums = new Set<string>();
    for (const [at, names] of [
      ['b', 'a', 'c'],
      ['c', 'b', 'a'],
    ].entries()) {
      const folder = temporary(t);
      await mkdir(join(folder, 'x'), { mode: at === 0 ? 0o700 : 0o777 });
      for (const name of names) {
        writeFileSync(join(folder, 'x', name), name, { mode: at === 0 ? 0o600 : 0o664 });
        utimesSync(join(folder, 'x', name), at * 1000, at * 1000);
      }
      await tidy(join(folder, 'x'), EPOCH);
      assert.equal(statSync(join(folder, 'x/a')).mode & 0o777, 0o644);
      const packed = await packTarGz(folder, ['x'], join(folder, 'x.tar.gz'), EPOCH);
      sums.add(packed.sha256);
    }
    assert.equal(sums.size, 1);
  });

  it('knows the machine of a binary', async () => {
    assert.equal(await machineOf(join(ROOT, 'native/prebuilt/linux-x64/udp-batch.node')), 62);
    assert.equal(await machineOf(join(ROOT, 'package.json')), null);
  });
});

describe('the list of materials', () => {
  it('has every production package of the lock file, and what the dashboard contains', async () => {
    const build = { commit: 'c'.repeat(40), epoch: EPOCH, version: '0.0.1' };
    const text = await materials(ROOT, [], build);
    assert.equal(await materials(ROOT, [], build), text);
    const { components } = JSON.parse(text) as { components: { purl: string }[] };
    const listed = new Set(components.map(({ purl }) => decodeURIComponent(purl.slice('pkg:npm/'.length))));
    const { packages } = JSON.parse(textOf('package-lock.json')) as {
      packages: Record<string, { version: string; dev?: boolean }>;
    };
    const production = Object.entries(packages).flatMap(([path, { version, dev }]) =>
      path === '' || dev === true ? [] : [`${path.replace(/^.*node_modules\//, '')}@${version}`],
    );
    assert.deepEqual(
      production.filter((name) => !listed.has(name)),
      [],
    );
    assert.ok([...listed].some((name) => name.startsWith('preact@')));
    assert.ok(![...listed].some((name) => name.startsWith('typescript@')));
  });
});
