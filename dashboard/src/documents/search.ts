/** Finds sections of the documents by the index that the build makes. */

export interface SearchIndex {
  readonly pages: readonly (readonly [url: string, title: string])[];
  /** The anchor is empty for the beginning of a page. */
  readonly sections: readonly (readonly [page: number, anchor: string, text: string])[];
  /** Sorted, with a space between two. */
  readonly words: string;
  /** For each word the sections that have it: distances in base 36, with commas. */
  readonly places: string;
}

export interface Found {
  readonly url: string;
  readonly page: string;
  /** Empty for the beginning of a page. */
  readonly section: string;
}

const RESULTS = 12;
/** A heading that has the word counts as so many texts. */
const HEADING = 12;
/** The title of the page. */
const TITLE = 40;
/** A section of a page whose title has the word. */
const SUBJECT = 4;
/** The word itself, and not a longer one that begins so. */
const WHOLE = 3;

/** Letters, digits and `_`, in small letters; words of one character are left out. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]{2,32}/gu) ?? [];
}

/** Of a title also two words as one: somebody looks for `backup`, and the page is called `Back up`. */
export function titleWords(title: string): string[] {
  const words = wordsOf(title);
  return [...words, ...words.slice(1).map((word, at) => words[at]! + word)];
}

/** Sections that have every word, or else those that have most; the last may be the beginning of one. Common words, which the index leaves out, count for nothing. */
export function search(index: SearchIndex, query: string): Found[] {
  const asked = wordsOf(query);
  if (asked.length === 0) return [];
  const words = index.words.split(' ');
  const places = index.places.split(' ');
  const scores = asked.map((word, at) =>
    scoresOf(index, { word, isPrefix: at === asked.length - 1 }, words, places),
  );
  const known = scores.filter(({ size }) => size > 0);
  // A word that no section has is common, or a mistake: the others still find something.
  const all = [...new Set(known.flatMap((one) => [...one.keys()]))].map((section) => {
    const weights = known.flatMap((one) => one.get(section) ?? []);
    return { section, count: weights.length, score: weights.reduce((sum, weight) => sum + weight, 0) };
  });
  const most = Math.max(...all.map(({ count }) => count));
  return all
    .filter(({ count }) => count === most)
    .toSorted((one, two) => two.score - one.score || one.section - two.section)
    .slice(0, RESULTS)
    .map(({ section }) => foundAt(index, section));
}

function foundAt({ pages, sections }: SearchIndex, at: number): Found {
  const [page, anchor, text] = sections[at]!;
  const [url, title] = pages[page]!;
  return anchor === ''
    ? { url, page: title, section: '' }
    : { url: `${url}#${anchor}`, page: title, section: text };
}

function scoresOf(
  { pages, sections }: SearchIndex,
  { word, isPrefix }: { readonly word: string; readonly isPrefix: boolean },
  words: readonly string[],
  places: readonly string[],
): Map<number, number> {
  const has = (one: string): boolean => one === word || (isPrefix && one.startsWith(word));
  const scores = new Map<number, number>();
  const raise = (section: number, score: number): void => {
    scores.set(section, Math.max(scores.get(section) ?? 0, score));
  };
  words.forEach((one, at) => {
    if (!has(one)) return;
    let section = 0;
    for (const distance of places[at]!.split(',')) {
      section += Number.parseInt(distance, 36);
      const [, anchor, text] = sections[section]!;
      const isPage = anchor === '';
      const isNamed = (isPage ? titleWords(text) : wordsOf(text)).includes(one);
      const weight = isNamed ? (isPage ? TITLE : HEADING) : 1;
      raise(section, weight * (one === word ? WHOLE : 1));
    }
  });
  const subjects = new Set(pages.flatMap(([, title], page) => (titleWords(title).some(has) ? [page] : [])));
  sections.forEach(([page], section) => {
    if (subjects.has(page)) raise(section, SUBJECT);
  });
  return scores;
}
