import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of the checkout or of the package. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Such as `0.2.0`: in what is the same for everybody who has this release, as the documents of the API. */
export function releaseVersion(): string {
  return manifest().version;
}

/**
 * Such as `0.2.0+g3ad8411`: release and commit, as `git describe` writes it, which tells two builds of one release apart. A checkout
 * without Git's folder, and a package made from one, have the release alone.
 */
export function programVersion(): string {
  const { version, config } = manifest();
  const build = config.build ?? buildOf(ROOT);
  return build === null ? version : `${version}+${build}`;
}

/** Such as `^22.20.0 || >=24.11.0`. `engines` of a checkout is wider, because `npm ci` runs on more versions. */
export function neededNode(): string {
  return manifest().config.node;
}

/** The documents of this release, in a checkout and in the package. */
export function documentsFolder(): string {
  return join(ROOT, 'docs');
}

/** Whether the sources run in their own checkout, as by `npm run`: a package has JavaScript. */
export function runsInCheckout(): boolean {
  return /\.ts$/.test(import.meta.url) && process.cwd() === resolve(ROOT);
}

interface Manifest {
  readonly version: string;
  /** `build` is in a package that was made from a checkout with Git's folder. */
  readonly config: { readonly node: string; readonly build?: string };
}

function manifest(): Manifest {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
}

const DIGITS = 7;

/**
 * `g` and the first digits of the commit of a checkout, read from Git's files: no program is started for it. Null without them.
 * @param root of the checkout
 */
export function buildOf(root: string): string | null {
  try {
    const folder = gitFolder(root);
    const commit = resolveRef(folder, readFileSync(join(folder, 'HEAD'), 'utf8').trim());
    return /^[0-9a-f]{40,64}$/.test(commit) ? `g${commit.slice(0, DIGITS)}` : null;
  } catch {
    return null;
  }
}

/** `.git`, or where that file points to: in a second worktree. */
function gitFolder(root: string): string {
  const path = join(root, '.git');
  try {
    const [, folder] = /^gitdir: (.+)$/m.exec(readFileSync(path, 'utf8')) ?? [];
    return resolve(root, folder ?? '.git');
  } catch {
    return path;
  }
}

/** @param head a commit, or `ref: refs/heads/main` */
function resolveRef(folder: string, head: string): string {
  const [, ref] = /^ref: (.+)$/.exec(head) ?? [];
  if (ref === undefined) return head;
  const shared = resolve(folder, textOf(join(folder, 'commondir')) ?? '.');
  const packed = textOf(join(shared, 'packed-refs')) ?? '';
  const line = packed.split('\n').find((each) => each.endsWith(` ${ref}`));
  return textOf(join(shared, ref)) ?? line?.split(' ')[0] ?? '';
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
