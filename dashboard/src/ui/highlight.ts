/** Splits code into tokens for colouring. It need not be exact: a token of the wrong kind has the wrong colour, nothing more. */

export interface Token {
  /** Null: plain text. */
  readonly kind: 'string' | 'number' | 'word' | 'name' | 'comment' | null;
  readonly text: string;
}

type Language = 'json' | 'shell' | 'text';

const PATTERNS: Readonly<Record<Exclude<Language, 'text'>, RegExp>> = {
  json: /(?<name>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\b\d[\d.eE+-]*)|(?<word>\b(?:true|false|null)\b)/g,
  shell:
    /(?<comment>(?<=^|\s)#.*$)|(?<string>"(?:[^"\\]|\\.)*"|'[^']*')|(?<name>\$\{?\w+\}?|(?<=\s)-{1,2}[\w-]+|(?<=\s)\+\w+)|(?<word>^[a-z][\w.-]*)/gm,
};
const KINDS = ['comment', 'string', 'number', 'word', 'name'] as const;

export function tokensOf(code: string, language: Language): readonly Token[] {
  if (language === 'text') return [{ kind: null, text: code }];
  const tokens: Token[] = [];
  let at = 0;
  for (const match of code.matchAll(PATTERNS[language])) {
    if (match.index > at) tokens.push({ kind: null, text: code.slice(at, match.index) });
    const kind = KINDS.find((one) => match.groups?.[one] !== undefined) ?? null;
    tokens.push({ kind, text: match[0] });
    at = match.index + match[0].length;
  }
  if (at < code.length) tokens.push({ kind: null, text: code.slice(at) });
  return tokens;
}
