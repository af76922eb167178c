/**
 * package.json and npm-shrinkwrap.json of the package, made from package.json and package-lock.json of the checkout, and how the one replaces the
 * other while npm packs.
 */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

type Versions = Readonly<Record<string, string>>;

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly config: { readonly node: string; readonly build?: string };
  readonly bin: Versions;
  readonly dependencies: Versions;
  readonly optionalDependencies: Versions;
  /** A version, or what only a tool of developers takes in place of its own wish. */
  readonly overrides: Readonly<Record<string, string | Versions>>;
  readonly files: readonly string[];
  readonly [member: string]: unknown;
}

interface LockEntry {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly [member: string]: unknown;
}

export interface Lock {
  readonly name: string;
  readonly version: string;
  readonly lockfileVersion: number;
  readonly packages: Readonly<Record<string, LockEntry>>;
}

const KEPT = 'package.json.checkout';
/** A Node from npm, 190 MB. A checkout installs it, because its commands run on old versions of Node as well. The package does not. */
const OWN_NODE = /^(?:node_modules\/)?node-(?:linux-|bin-)/;
const FOR_DEVELOPERS = ['devDependencies', 'scripts', 'allowScripts'];

/**
 * The manifest of the package: what it needs to run, and nothing of the checkout.
 * @param build commit that it is made from, for `--version`; null: not known
 */
export function packedManifest(checkout: Manifest, build: string | null = null): Manifest {
  const kept = Object.entries(checkout).filter(([member]) => !FOR_DEVELOPERS.includes(member));
  const optional = Object.entries(checkout.optionalDependencies).filter(([name]) => !OWN_NODE.test(name));
  return {
    ...(Object.fromEntries(kept) as Manifest),
    config: build === null ? checkout.config : { ...checkout.config, build },
    overrides: versionsOf(checkout.overrides),
    engines: { node: checkout.config.node },
    // npm takes no overrides from an installed package. As dependencies of its own, the versions are shared by what depends on them.
    optionalDependencies: { ...Object.fromEntries(optional), ...versionsOf(checkout.overrides) },
  };
}

function versionsOf(overrides: Manifest['overrides']): Versions {
  return Object.fromEntries(
    Object.entries(overrides).filter((one): one is [string, string] => typeof one[1] === 'string'),
  );
}

/** Of paths of the checkout, such as `dashboard/dist`, those that `files` does not list. npm always packs package.json. */
export function missing({ files }: Manifest, outside: readonly string[]): string[] {
  const listed = ['package.json', ...files];
  const paths = outside.map((path) => path.replace(/^\.\/$|\/$/g, ''));
  return paths.filter(
    (path) => path !== '' && !listed.some((one) => path === one || path.startsWith(`${one}/`)),
  );
}

/** The lock file of the checkout without what only developers need: `npm ci` in the unpacked package, and npm when it gets the package from a registry, install these versions. */
export function shrinkwrap(lock: Lock, manifest: Manifest): Lock {
  const { name, version, license, engines, bin, dependencies, optionalDependencies } = manifest;
  const packages: Record<string, LockEntry> = {
    '': { name, version, license, dependencies, bin, engines, optionalDependencies },
  };
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === '' || entry.dev === true || OWN_NODE.test(path)) continue;
    const { devOptional, ...kept } = entry;
    packages[path] = devOptional === true ? { ...kept, optional: true } : kept;
  }
  return { ...lock, packages };
}

/** Writes the package's manifest and keeps the checkout's in a file beside it. */
export function replaceManifest(root: string, packed: object): void {
  writeFileSync(join(root, KEPT), readFileSync(join(root, 'package.json')));
  writeFileSync(join(root, 'package.json'), json(packed));
}

/**
 * Puts the checkout's manifest back, also after an `npm pack` that was killed, and removes npm-shrinkwrap.json: `npm ci` would take it
 * instead of package-lock.json. A package.json with scripts is the checkout's, perhaps of a later commit than the kept one, and stays.
 */
export function restoreManifest(root: string): void {
  rmSync(join(root, 'npm-shrinkwrap.json'), { force: true });
  const kept = join(root, KEPT);
  if (!existsSync(kept)) return;
  if (isCheckouts(join(root, 'package.json'))) rmSync(kept);
  else renameSync(kept, join(root, 'package.json'));
}

/** The package's manifest has no scripts. One that a kill cut short is no JSON. */
function isCheckouts(path: string): boolean {
  try {
    return 'scripts' in (JSON.parse(readFileSync(path, 'utf8')) as object);
  } catch {
    return false;
  }
}

export function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
