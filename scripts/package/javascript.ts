/** A TypeScript module of this project as JavaScript: types become spaces, so that lines and columns stay, and names of files end in .js. */
import { stripTypeScriptTypes } from 'node:module';
import ts from 'typescript';

/** What a module names: another module, or a file by `new URL('./file', import.meta.url)`. */
export interface Reference {
  readonly kind: 'module' | 'url';
  readonly text: string;
  /** Offsets of the text between its quotes. */
  readonly start: number;
  readonly end: number;
}

/** A text that is nothing but the name of a file, or the end of one. A sentence that ends in one is no fault. */
const SOURCE_NAME = /^[\w./-]*\.ts$/;

interface Named {
  readonly references: readonly Reference[];
  /** What cannot be followed or would be wrong in JavaScript. */
  readonly faults: readonly string[];
}

export interface JavaScript {
  readonly text: string;
  /** As the sources name them: with `.ts`. */
  readonly references: readonly Reference[];
}

/** @throws Error that names the module, when something in it cannot be made JavaScript */
export function toJavaScript(path: string, source: string): JavaScript {
  const { references, faults } = readReferences(path, source);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  let edited = '';
  let from = 0;
  for (const { text, start, end } of references) {
    edited += source.slice(from, start) + (isRelative(text) ? text.replace(/\.ts$/, '.js') : text);
    from = end;
  }
  return { text: stripTypeScriptTypes(edited + source.slice(from), { mode: 'strip' }), references };
}

export function isRelative(text: string): boolean {
  return text.startsWith('./') || text.startsWith('../');
}

/** The references of a module in the order of the text, without imports of types, which do not exist at run time. */
function readReferences(path: string, source: string): Named {
  const file = ts.createSourceFile(path, source, ts.ScriptTarget.ES2024, true);
  const references: Reference[] = [];
  const faults: string[] = [];

  function found(kind: Reference['kind'], node: ts.Node | undefined): boolean {
    if (node === undefined || !ts.isStringLiteral(node)) return false;
    references.push({ kind, text: node.text, start: node.getStart(file) + 1, end: node.getEnd() - 1 });
    return true;
  }

  function fault(node: ts.Node, what: string): void {
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    faults.push(`${path}:${line + 1}: ${what}`);
  }

  function visit(node: ts.Node): void {
    if (ts.isImportTypeNode(node) || isOfTypes(node)) return;
    if (
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
      found('module', node.moduleSpecifier)
    ) {
      return;
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      if (found('module', node.arguments[0])) return;
      fault(node, 'import() of a name that only the program knows');
    }
    if (isFileUrl(node) && found('url', node.arguments?.[0])) return;
    if ((ts.isStringLiteralLike(node) || ts.isTemplateTail(node)) && SOURCE_NAME.test(node.text)) {
      fault(node, `"${node.text}" names a file that the package does not have`);
    }
    ts.forEachChild(node, visit);
  }

  visit(file);
  return { references, faults };
}

/** `import type` and `export type`. */
function isOfTypes(node: ts.Node): boolean {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  return ts.isImportDeclaration(node) && node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
}

/** `new URL(..., import.meta.url)` */
function isFileUrl(node: ts.Node): node is ts.NewExpression {
  return (
    ts.isNewExpression(node) &&
    node.expression.getText() === 'URL' &&
    node.arguments?.[1]?.getText() === 'import.meta.url'
  );
}
