/** Characters that one does not see, or that change the order of what one sees (Unicode's bidirectional controls, zero-width and control characters). */

/** Tab, line feed and carriage return are seen by what they do. */
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;

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
    const code = found[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    parts.push({ text: `U+${code}`, isMark: true });
    from = found.index + 1;
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
