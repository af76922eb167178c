/** The modules that the program loads, found from its first one, as JavaScript. */
import { existsSync, readFileSync } from 'node:fs';
import { builtinModules, stripTypeScriptTypes } from 'node:module';
import { join, posix } from 'node:path';
import ts from 'typescript';

interface Distribution {
  /** JavaScript by its path below `dist`. */
  readonly modules: ReadonlyMap<string, string>;
  /** Other files that modules name, by their path below `dist`: where they are in the checkout. */
  readonly files: ReadonlyMap<string, string>;
  /** What modules name in the checkout outside of the sources, such as `dashboard/dist`. */
  readonly outside: readonly string[];
  /** Packages of npm that modules import. */
  readonly packages: ReadonlySet<string>;
}

/** What a module names: another module, or a file by `new URL('./file', import.meta.url)`. */
interface Reference {
  readonly kind: 'module' | 'url';
  /** As the sources have it: with `.ts`. */
  readonly text: string;
}

const BUILTIN = new Set(builtinModules.map((name) => `node:${name.replace(/^node:/, '')}`));
/** A text that is nothing but the name of a file, or the end of one. A sentence that ends in one is no fault. */
const SOURCE_NAME = /^[\w./-]*\.ts$/;

/** Folders of sources, and where their modules are below `dist`. In src/ modules name what is outside, so they keep their depth. */
const PLACES = [
  ['src/', ''],
  ['sdk/src/', 'sdk/'],
] as const;

/** Below `dist`; null: outside of the sources. */
function placeOf(path: string): string | null {
  const place = PLACES.find(([folder]) => path.startsWith(folder));
  return place === undefined ? null : place[1] + path.slice(place[0].length).replace(/\.ts$/, '.js');
}

function targetOf(from: string, text: string): string {
  return posix.join(posix.dirname(from), text);
}

/**
 * Follows imports, `import()` and `new URL(..., import.meta.url)` from `entry`, but not imports of types: a module of types is left out.
 * @param root the checkout
 * @param entry relative to `root`: `src/cli.ts`
 * @throws Error that lists the references that lead nowhere
 */
export function readDistribution(root: string, entry: string): Distribution {
  const modules = new Map<string, string>();
  const files = new Map<string, string>();
  const outside = new Set<string>();
  const packages = new Set<string>();
  const faults: string[] = [];
  const waiting = [entry];

  function follow(from: string, { kind, text }: Reference): void {
    if (!isRelative(text)) {
      if (text.startsWith('node:')) {
        if (!BUILTIN.has(text)) faults.push(`${from}: Node has no module ${text}`);
        // `@scope/name/file.js` is of the package `@scope/name`.
      } else if (kind === 'module') packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(text)![0]);
      return;
    }
    const target = targetOf(from, text);
    const place = placeOf(target);
    if (place === null && kind === 'url' && from.startsWith('src/')) outside.add(target);
    else if (place === null || !existsSync(join(root, target)))
      faults.push(`${from}: ${text} does not exist`);
    else if (target.endsWith('.ts')) waiting.push(target);
    else if (kind === 'module') faults.push(`${from}: ${text} is no module of TypeScript`);
    else files.set(place, target);
  }

  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const name = placeOf(path);
    if (name === null || modules.has(name)) continue;
    const { text, references } = toJavaScript(path, readFileSync(join(root, path), 'utf8'));
    modules.set(name, text);
    for (const reference of references) follow(path, reference);
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return { modules, files, outside: [...outside].sort(), packages };
}

/**
 * A module as JavaScript: types become spaces, so that lines and columns stay, and names of files end in .js.
 * @throws Error that names the module and the line of what cannot be followed or would be wrong in JavaScript
 */
export function toJavaScript(path: string, source: string): { text: string; references: Reference[] } {
  const stripped = stripTypeScriptTypes(source, { mode: 'strip' });
  const file = ts.createSourceFile(path, stripped, ts.ScriptTarget.ES2024, true, ts.ScriptKind.JS);
  const references: Reference[] = [];
  const faults: string[] = [];
  let text = '';
  let copied = 0;

  function found(kind: Reference['kind'], node: ts.Node | undefined): boolean {
    if (node === undefined || !ts.isStringLiteral(node)) return false;
    references.push({ kind, text: node.text });
    text += stripped.slice(copied, node.getStart(file) + 1) + inPackage(path, node.text);
    copied = node.getEnd() - 1;
    return true;
  }

  function fault(node: ts.Node, what: string): void {
    faults.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}: ${what}`);
  }

  function visit(node: ts.Node): void {
    if (
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
      found('module', node.moduleSpecifier)
    )
      return;
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      if (found('module', node.arguments[0])) return;
      fault(node, 'import() of a name that only the program knows');
    }
    if (
      ts.isNewExpression(node) &&
      node.expression.getText() === 'URL' &&
      node.arguments?.[1]?.getText() === 'import.meta.url' &&
      found('url', node.arguments[0])
    )
      return;
    if ((ts.isStringLiteralLike(node) || ts.isTemplateTail(node)) && SOURCE_NAME.test(node.text))
      fault(node, `"${node.text}" names a file that the package does not have`);
    ts.forEachChild(node, visit);
  }

  visit(file);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return { text: text + stripped.slice(copied), references };
}

/** The name by which a module of the package has what the module at `path` names. */
function inPackage(path: string, text: string): string {
  const [from, to] = [placeOf(path), isRelative(text) ? placeOf(targetOf(path, text)) : null];
  if (from === null || to === null) return text;
  const name = posix.relative(posix.dirname(from), to);
  return isRelative(name) ? name : `./${name}`;
}

function isRelative(text: string): boolean {
  return text.startsWith('./') || text.startsWith('../');
}
