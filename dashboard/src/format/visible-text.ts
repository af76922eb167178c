/** Characters that one does not see, or that change the order of what one sees (the classes Cc and Cf of Unicode). */

/** Not tabs and line ends, which are seen by what they do, nor the joiner within an emoji. */
const HIDDEN =
  /(?![\t\n\r])(?:(?<!\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d|(?!\u200d)[\p{Cc}\p{Cf}\u2028\u2029])/gu;

export interface TextPart {
  readonly text: string;
  /** It stands for a hidden character: `U+202E`. */
  readonly isMark: boolean;
}

/** The text with a mark in the place of each hidden character. */
export function visibleParts(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > from) parts.push({ text: text.slice(from, found.index), isMark: false });
    const code = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
    parts.push({ text: `U+${code}`, isMark: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) parts.push({ text: text.slice(from), isMark: false });
  return parts;
}

/** On one line: the marks in brackets, line ends as ↵. */
export function visibleLine(text: string): string {
  return visibleParts(text)
    .map((part) => (part.isMark ? `⟨${part.text}⟩` : part.text.replace(/\r\n|\r|\n/g, '↵')))
    .join('');
}
