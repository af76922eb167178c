/** The list of everything that a release is made of, as CycloneDX 1.6. */
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Base, Build } from './image.ts';

interface Entry {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

type Packages = Readonly<Record<string, Entry>>;

/** An expression has several licences, and the format has another member for it. */
const IS_EXPRESSION = /\s(?:OR|AND|WITH)\s/;

/**
 * Lists the production packages of the lock file on all machines, what the scripts of the dashboard contain of others, and the packages of
 * Debian in the image.
 * @param source the checkout
 */
export async function materials(source: string, bases: readonly Base[], build: Build): Promise<string> {
  const { packages } = JSON.parse(await readFile(join(source, 'package-lock.json'), 'utf8')) as {
    packages: Packages;
  };
  const paths = new Set(Object.keys(packages).filter((path) => path !== '' && packages[path]!.dev !== true));
  for (const path of await bundled(source, packages)) paths.add(path);
  const components = new Map<string, object>();
  const dependencies = new Map<string, Set<string>>();
  const root = `pkg:npm/uqrp@${build.version}`;
  dependencies.set(root, new Set(needed('', packages, paths)));
  for (const path of paths) {
    const entry = packages[path]!;
    const ref = refOf(path, entry);
    components.set(ref, npmComponent(path, entry));
    const known = dependencies.get(ref) ?? new Set();
    for (const other of needed(path, packages, paths)) known.add(other);
    dependencies.set(ref, known);
  }
  for (const { architecture, packages: ofDebian } of bases) {
    for (const { name, version, sha256 } of ofDebian) {
      const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture.debian}&distro=trixie`;
      const hashes = [{ alg: 'SHA-256', content: sha256 }];
      components.set(purl, { type: 'library', 'bom-ref': purl, name, version, purl, hashes });
    }
  }
  const document = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(`${build.commit} ${[...components.keys()].join(' ')}`)}`,
    version: 1,
    metadata: {
      timestamp: new Date(build.epoch * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': root,
        name: 'uqrp',
        version: build.version,
        purl: root,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        properties: [{ name: 'uqrp:commit', value: build.commit }],
      },
    },
    components: [...components].sort(byKey).map(([, component]) => component),
    dependencies: [...dependencies]
      .sort(byKey)
      .map(([ref, others]) => ({ ref, dependsOn: [...others].sort() })),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : Number(a > b);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function refOf(path: string, { version }: Entry): string {
  return `pkg:npm/${nameOf(path).replace('@', '%40')}@${version}`;
}

function npmComponent(path: string, entry: Entry): object {
  const [, group, name] = /^(?:(@[^/]+)\/)?(.+)$/.exec(nameOf(path))!;
  const { version, license, integrity } = entry;
  const ref = refOf(path, entry);
  const licenses =
    license === undefined
      ? []
      : [IS_EXPRESSION.test(license) ? { expression: license } : { license: { id: license } }];
  const sha512 = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  return {
    type: 'library',
    'bom-ref': ref,
    ...(group === undefined ? {} : { group }),
    name,
    version,
    ...(sha512 === undefined
      ? {}
      : { hashes: [{ alg: 'SHA-512', content: Buffer.from(sha512, 'base64').toString('hex') }] }),
    ...(licenses.length === 0 ? {} : { licenses }),
    purl: ref,
  };
}

/** What a package gets when it imports what it depends on, as far as it is listed: the nearest folder above it. */
function needed(path: string, packages: Packages, listed: ReadonlySet<string>): string[] {
  const { dependencies, optionalDependencies, peerDependencies } = packages[path]!;
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return names.flatMap((name) => {
    const found = resolved(path, name, packages);
    return found === null || !listed.has(found) ? [] : [refOf(found, packages[found]!)];
  });
}

function resolved(path: string, name: string, packages: Packages): string | null {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))) {
    const candidate = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (packages[candidate] !== undefined) return candidate;
    if (folder === '') return null;
  }
}

/** Packages for developers whose code is part of the scripts of the dashboard, with what they depend on. */
async function bundled(source: string, packages: Packages): Promise<string[]> {
  const found = new Set<string>();
  for (const file of globSync('dashboard/src/**/*.{ts,tsx,css}', { cwd: source })) {
    if (file.endsWith('.test.ts')) continue;
    const text = await readFile(join(source, file), 'utf8');
    for (const [, name] of text.matchAll(/(?:from |import |url\()['"]((?:@[a-z][\w.-]*\/)?[a-z][\w.-]*)/g)) {
      const path = `node_modules/${name}`;
      if (packages[path] !== undefined) found.add(path);
    }
  }
  for (const path of found)
    for (const name of Object.keys(packages[path]!.dependencies ?? {})) {
      const other = resolved(path, name, packages);
      if (other !== null) found.add(other);
    }
  return [...found];
}

/** A version 8 of the bits of a hash: the same input has the same number. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
