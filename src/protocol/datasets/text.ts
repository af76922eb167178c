/** Printable ASCII without `;` and backslash: most texts, and nothing else need be checked but their length. */
const PLAIN = /^[ -:<-[\]-~]*$/;
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
const MARK_FIRST = /^\p{M}/u;

/**
 * What is wrong with a text of a TXT answer, or null. `;` separates fields there, and a line feed ends a line of the text that is signed.
 * @param text in normal form C. @param max octets of its UTF-8
 */
export function textFault(text: string, max: number): string | null {
  if (text.length <= max && PLAIN.test(text)) return null;
  if (!text.isWellFormed() || CONTROL.test(text))
    return 'must be one line of text without control characters';
  if (text.includes(';') || text.includes('\\')) return 'must not contain ; or \\';
  // Programs that normalize a whole line would join the mark with the `=` before it.
  if (MARK_FIRST.test(text)) return 'must not begin with a combining mark';
  return Buffer.byteLength(text) > max ? `must have at most ${max} octets` : null;
}
