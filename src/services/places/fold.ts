/** Latin letters without a Unicode decomposition. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
  ŋ: 'n',
  ə: 'a',
};
const SPECIAL = /[ßæœøłđðþħıŋə]/gu;
const LATIN_MARKS = /[\u0300-\u036f]/gu;
/** Apostrophes and their substitutes: removed, without splitting the word. */
const APOSTROPHES = /['`\u00b4\u02bb-\u02bf\u2018\u2019]/gu;
const BETWEEN = /[^\p{L}\p{M}\p{N}]+/gu;

/**
 * Normalises a name for building and searching the table: lower case, Latin letters without marks, words joined by one
 * hyphen. Other scripts keep their marks. Returns '' without a letter or digit.
 */
export function fold(text: string): string {
  const bare = text.normalize('NFKD').replace(LATIN_MARKS, '').normalize('NFC').toLowerCase();
  return bare
    .replace(SPECIAL, (letter) => LETTERS[letter]!)
    .replace(APOSTROPHES, '')
    .replace(BETWEEN, '-')
    .replace(/^-|-$/gu, '');
}

/** The key of a folded name: letters only, so that `newyork`, `new-york` and `New York` are equal. */
export function compact(folded: string): string {
  return folded.replaceAll('-', '');
}
