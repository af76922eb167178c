/** Before `npm pack`: writes dist/, npm-shrinkwrap.json and the package's package.json. Exits 1 before it changes package.json when a module would not run. */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOf } from '../../src/ops/config/version.ts';
import {
  json,
  type Lock,
  type Manifest,
  missing,
  packedManifest,
  replaceManifest,
  restoreManifest,
  shrinkwrap,
} from './manifest.ts';
import { readDistribution } from './modules.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TARGET = join(ROOT, 'dist');

restoreManifest(ROOT);
if (!existsSync(join(ROOT, 'dashboard/dist/index.html')))
  throw new Error('dashboard/dist is missing: run npm ci');
const manifest = readJson<Manifest>('package.json');
const packed = packedManifest(manifest, buildOf(ROOT));
const { modules, files, packages, outside } = readDistribution(ROOT, 'src/cli.ts');
const unlisted = [...packages].filter((name) => manifest.dependencies[name] === undefined);
if (unlisted.length > 0) throw new Error(`not in dependencies: ${unlisted.join(', ')}`);
const absent = missing(packed, outside);
if (absent.length > 0) throw new Error(`not in files: ${absent.join(', ')}`);
rmSync(TARGET, { recursive: true, force: true });
for (const [path, text] of modules) {
  mkdirSync(dirname(join(TARGET, path)), { recursive: true });
  writeFileSync(join(TARGET, path), text);
}
for (const [path, source] of files) cpSync(join(ROOT, source), join(TARGET, path), { recursive: true });
writeFileSync(
  join(ROOT, 'npm-shrinkwrap.json'),
  json(shrinkwrap(readJson<Lock>('package-lock.json'), packed)),
);
replaceManifest(ROOT, packed);

function readJson<T>(name: string): T {
  return JSON.parse(readFileSync(join(ROOT, name), 'utf8')) as T;
}
