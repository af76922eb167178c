/** The index that the search of the documents loads: sections, and for each word the sections that have it. */
import { type SearchIndex, titleWords, wordsOf } from '../src/documents/search.ts';
import type { Heading } from './markdown.ts';

export interface IndexedPage {
  readonly url: string;
  readonly title: string;
  readonly headings: readonly Heading[];
  /** Of the sections only the headings are found: pages about decisions and tests, which are long. */
  readonly isBrief: boolean;
}

/** A word that more than one section in so many has tells them not apart. */
const COMMON = 6;

export function searchIndex(pages: readonly IndexedPage[]): SearchIndex {
  const sections = pages.flatMap(({ headings, isBrief }, page) =>
    headings.map((heading) => ({ page, isBrief, heading })),
  );
  const found = new Map<string, number[]>();
  sections.forEach(({ isBrief, heading: { text, words, depth } }, at) => {
    const own = depth === 1 ? titleWords(text) : wordsOf(text);
    for (const word of new Set([...own, ...(isBrief ? [] : wordsOf(words))])) {
      const places = found.get(word) ?? [];
      places.push(at);
      found.set(word, places);
    }
  });
  const kept = [...found]
    .filter(([, places]) => places.length <= sections.length / COMMON)
    .toSorted(([one], [two]) => (one < two ? -1 : 1));
  return {
    pages: pages.map(({ url, title }) => [url, title]),
    sections: sections.map(({ page, heading: { id, text, depth } }) => [page, depth === 1 ? '' : id, text]),
    words: kept.map(([word]) => word).join(' '),
    places: kept.map(([, places]) => deltas(places)).join(' '),
  };
}

/** Each number as its distance from the one before, in base 36. */
function deltas(places: readonly number[]): string {
  return places.map((place, at) => (place - (places[at - 1] ?? 0)).toString(36)).join(',');
}
