/** Latin letters that no Unicode decomposition takes apart. */
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
/** Apostrophes and what stands in for them: part of a word, and not of its spelling. */
const APOSTROPHES = /['`\u00b4\u02bb-\u02bf\u2018\u2019]/gu;
/** All that is neither letter, mark nor digit. */
const BETWEEN = /[^\p{L}\p{M}\p{N}]+/gu;

/**
 * What two spellings of a name share: lower case, Latin letters without their marks, words parted by one hyphen. Scripts
 * other than Latin keep their marks. The table of places is built with it and searched with it.
 *
 * @returns '' for text without a letter or digit
 */
export function fold(text: string): string {
  const bare = text.normalize('NFKD').replace(LATIN_MARKS, '').normalize('NFC').toLowerCase();
  return bare
    .replace(SPECIAL, (letter) => LETTERS[letter]!)
    .replace(APOSTROPHES, '')
    .replace(BETWEEN, '-')
    .replace(/^-|-$/gu, '');
}

/** The key of a folded name: its letters alone, so that `newyork`, `new-york` and `New York` are one. */
export function compact(folded: string): string {
  return folded.replaceAll('-', '');
}
