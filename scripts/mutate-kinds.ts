/** Realistic faults: what a person might have written in place of one piece of a source file. */
import ts from 'typescript';

export interface Mutation {
  /** Path from the project's root. */
  readonly file: string;
  readonly kind: string;
  readonly from: string;
  readonly to: string;
  /** Where `from` begins in the file. */
  readonly at: number;
  /** From 1. */
  readonly line: number;
  /** The line as it stands in the file, without the spaces around it. */
  readonly text: string;
}

type Found = readonly [kind: string, node: { getStart(): number; end: number }, to: string];

const SWAPPED: Readonly<Record<string, readonly [kind: string, operator: string]>> = {
  '===': ['swapped condition', '!=='],
  '!==': ['swapped condition', '==='],
  '&&': ['swapped condition', '||'],
  '||': ['swapped condition', '&&'],
  '<': ['off by one', '<='],
  '<=': ['off by one', '<'],
  '>': ['off by one', '>='],
  '>=': ['off by one', '>'],
};

/** A factor that turns one unit into another. */
const UNIT = /^(?:\w*(?:_MS|_S|MS|SECONDS|MINUTES|HOURS|DAYS|KIB|MIB)|24|60|1_?000|1_?024|3_?600|86_?400)$/;
const SYNC = /\b(?:f?sync|f?datasync|fsyncSync|fdatasyncSync|sync\w+)\b/i;
/** What is told to nobody but an operator, and politeness to other work of the thread: a fault in it is seen in a graph. */
const TOLD =
  /^(?:await )?(?:this\.)?#?(?:log|logger|trace|debug|metrics|process\.stderr|nextTick\(|nextTurn\()/;
/** A condition of a statement of SQL: to the next one, or to the end of its clause. */
const SQL_AND =
  /\band\s+[^\n]+?(?=\s+(?:and|or|order|group|limit|returning|union|on conflict)\b|\s*\n|\s*['"`]?$|\))/g;

/** All faults of one file, in the order of its text. */
export function mutationsOf(file: string, source: string): readonly Mutation[] {
  const tree = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const lines = source.split('\n');
  const found: Mutation[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
    for (const [kind, piece, to] of faultsOf(node)) {
      const at = piece.getStart();
      const { line } = tree.getLineAndCharacterOfPosition(at);
      const from = source.slice(at, piece.end);
      if (from !== to) found.push({ file, kind, from, to, at, line: line + 1, text: lines[line]!.trim() });
    }
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found.toSorted((a, b) => a.at - b.at);
}

function faultsOf(node: ts.Node): readonly Found[] {
  if (ts.isBinaryExpression(node)) return ofOperator(node);
  if (ts.isConditionalExpression(node)) {
    const { condition, whenTrue, whenFalse } = node;
    const swapped = `${condition.getText()} ? ${whenFalse.getText()} : ${whenTrue.getText()}`;
    return [['swapped condition', node, swapped]];
  }
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [['swapped condition', node, node.operand.getText()]];
  if (ts.isIfStatement(node)) return ofIf(node);
  if (ts.isCallExpression(node)) return ofCall(node);
  if (ts.isNumericLiteral(node)) return ofNumber(node);
  if (ts.isExpressionStatement(node)) return ofStatement(node);
  if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node)) return ofSql(node);
  if (ts.isTemplateMiddleOrTemplateTail(node)) return ofSql(node);
  return [];
}

function ofOperator(node: ts.BinaryExpression): readonly Found[] {
  const operator = node.operatorToken.getText();
  const [left, right] = [node.left.getText(), node.right.getText()];
  const swapped = SWAPPED[operator];
  const found: Found[] = swapped === undefined ? [] : [[swapped[0], node.operatorToken, swapped[1]]];
  if (operator === '&&' || operator === '||')
    found.push(['removed check', node, left], ['removed check', node, right]);
  if (operator === '??') found.push(['removed check', node, right]);
  if ((operator === '*' || operator === '/') && UNIT.test(right)) found.push(['wrong unit', node, left]);
  if ((operator === '+' || operator === '-') && right === '1') found.push(['off by one', node, left]);
  return found;
}

function ofIf(node: ts.IfStatement): readonly Found[] {
  const { expression, elseStatement, parent } = node;
  const found: Found[] = [['swapped condition', expression, `!(${expression.getText()})`]];
  if (elseStatement === undefined)
    found.push(['removed check', node, ts.isBlock(parent) || ts.isSourceFile(parent) ? '' : ';']);
  return found;
}

function ofCall({ expression, arguments: args }: ts.CallExpression): readonly Found[] {
  const found: Found[] = [];
  if (ts.isPropertyAccessExpression(expression) && expression.name.text === 'filter')
    found.push(['removed filter', expression.parent, expression.expression.getText()]);
  for (const [i, arg] of args.entries()) {
    const next = args[i + 1];
    if (next === undefined || !isPlain(arg) || !isPlain(next) || arg.getText() === next.getText()) continue;
    const both = { getStart: () => arg.getStart(), end: next.end };
    found.push(['swapped arguments', both, `${next.getText()}, ${arg.getText()}`]);
  }
  return found;
}

function isPlain(node: ts.Node): boolean {
  return ts.isIdentifier(node) || ts.isPropertyAccessExpression(node) || ts.isNumericLiteral(node);
}

function ofNumber(node: ts.NumericLiteral): readonly Found[] {
  const text = node.getText();
  // A name of a number is a limit or a code; a field of a table is compared with a page.
  if (!/^[\d_]+$/.test(text) || ts.isPropertyAssignment(node.parent)) return [];
  if (ts.isBinaryExpression(node.parent) && /[*/%&|^<>]{1,2}$/.test(node.parent.operatorToken.getText()))
    return [];
  const number = Number(text.replaceAll('_', ''));
  if (number < 1_000) return [['off by one', node, String(number + 1)]];
  return number % 1_000 === 0 ? [['wrong unit', node, String(number / 1_000)]] : [];
}

function ofStatement(node: ts.ExpressionStatement): readonly Found[] {
  const text = node.getText();
  const { expression, parent } = node;
  if (TOLD.test(text)) return [];
  const found: Found[] = [];
  const called = ts.isAwaitExpression(expression) ? expression.expression : expression;
  const nothing =
    ts.isBlock(parent) || ts.isSourceFile(parent) || ts.isCaseOrDefaultClause(parent) ? '' : ';';
  if (ts.isCallExpression(called))
    found.push([SYNC.test(called.expression.getText()) ? 'removed sync' : 'removed call', node, nothing]);
  else if (isChange(called)) found.push(['removed assignment', node, nothing]);
  else return [];
  if (ts.isAwaitExpression(expression))
    found.push(['dropped await', node, `void (${expression.expression.getText()});`]);
  const next = ts.isBlock(parent) ? parent.statements[parent.statements.indexOf(node) + 1] : undefined;
  if (next !== undefined && ts.isExpressionStatement(next) && !TOLD.test(next.getText())) {
    const both = { getStart: () => node.getStart(), end: next.end };
    found.push(['order of two statements', both, `${next.getText()}\n${text}`]);
  }
  return found;
}

function isChange(node: ts.Expression): boolean {
  if (ts.isPostfixUnaryExpression(node) || ts.isPrefixUnaryExpression(node) || ts.isDeleteExpression(node))
    return true;
  return ts.isBinaryExpression(node) && /^(?:[^=!<>]{0,3}|<<|>>)=$/.test(node.operatorToken.getText());
}

function ofSql(node: ts.Node): readonly Found[] {
  const text = node.getText();
  if (!/\b(?:select|update|delete|where|join)\b|^['"`} ]*and /.test(text)) return [];
  return [...text.matchAll(SQL_AND)].flatMap(({ 0: clause, index }): readonly Found[] => {
    if (clause.split('(').length !== clause.split(')').length || !/[=<>]| is n| in \(| like /.test(clause))
      return [];
    const at = node.getStart() + index;
    return [['removed filter', { getStart: () => at, end: at + clause.length }, '']];
  });
}
