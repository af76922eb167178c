/** JSON laid out without being read into values: large numbers and repeated names stay as they were written. */

/** A string, a mark, or a number or word; white space between them is dropped. */
const PIECE = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const INDENT = '  ';

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Without white space. The text when it is no JSON. */
export function minified(text: string): string {
  return isJson(text) ? pieces(text).join('') : text;
}

/** One member a line. The text when it is no JSON. */
export function formatted(text: string): string {
  if (!isJson(text)) return text;
  const all = pieces(text);
  let out = '';
  let depth = 0;
  const line = (): string => `\n${INDENT.repeat(depth)}`;
  all.forEach((piece, at) => {
    const isEmpty = /[{[]/.test(piece) && /[}\]]/.test(all[at + 1] ?? '') && piece.length === 1;
    if (isEmpty) out += piece;
    else if (piece === '{' || piece === '[') {
      depth += 1;
      out += piece + line();
    } else if (piece === '}' || piece === ']') {
      const closesEmpty = all[at - 1] === (piece === '}' ? '{' : '[');
      if (!closesEmpty) {
        depth -= 1;
        out += line();
      }
      out += piece;
    } else if (piece === ',') out += piece + line();
    else if (piece === ':') out += ': ';
    else out += piece;
  });
  return out;
}

function pieces(text: string): string[] {
  return text.match(PIECE) ?? [];
}
