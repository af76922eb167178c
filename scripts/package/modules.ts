/** The modules that the program loads, found from its first one, as JavaScript. */
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { isRelative, toJavaScript } from './javascript.ts';

export interface Distribution {
  /** JavaScript by its path below `dist`. */
  readonly modules: ReadonlyMap<string, string>;
  /** Other files that modules name, relative to the folder of the sources. */
  readonly files: readonly string[];
  /** What modules name outside that folder, such as `../package.json`. */
  readonly outside: readonly string[];
  /** Packages of npm that modules import. */
  readonly packages: ReadonlySet<string>;
}

const BUILTIN = new Set(builtinModules.map((name) => `node:${name.replace(/^node:/, '')}`));

/**
 * Follows imports, `import()` and `new URL(..., import.meta.url)` from `entry`, but not imports of types: a module of types is left out.
 * @param root the folder of the sources
 * @param entry relative to `root`: `cli.ts`
 * @throws Error that lists the references that lead nowhere
 */
export function readDistribution(root: string, entry: string): Distribution {
  const modules = new Map<string, string>();
  const files = new Set<string>();
  const outside = new Set<string>();
  const packages = new Set<string>();
  const faults: string[] = [];
  const waiting = [entry];

  function follow(from: string, kind: 'module' | 'url', text: string): void {
    if (!isRelative(text)) {
      if (text.startsWith('node:')) {
        if (!BUILTIN.has(text)) faults.push(`${from}: Node has no module ${text}`);
      } else if (kind === 'module') packages.add(packageOf(text));
      return;
    }
    const target = join(dirname(from), text);
    if (kind === 'url' && target.startsWith('..')) outside.add(target);
    else if (!existsSync(join(root, target))) faults.push(`${from}: ${text} does not exist`);
    else if (target.endsWith('.ts')) waiting.push(target);
    else if (kind === 'module') faults.push(`${from}: ${text} is no module of TypeScript`);
    else files.add(target);
  }

  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const name = path.replace(/\.ts$/, '.js');
    if (modules.has(name)) continue;
    const { text, references } = toJavaScript(path, readFileSync(join(root, path), 'utf8'));
    modules.set(name, text);
    for (const reference of references) follow(path, reference.kind, reference.text);
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return { modules, files: [...files].sort(), outside: [...outside].sort(), packages };
}

/** `@scope/name/file.js` is of the package `@scope/name`. */
function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}
