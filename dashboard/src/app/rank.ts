/** The order of what the palette finds. */

/** @returns the best first; null for text that does not have all letters of the query in their order */
export function rankOf(text: string, query: string): number | null {
  const wanted = query.trim().toLowerCase();
  const within = text.toLowerCase();
  if (wanted === '') return 0;
  if (within.startsWith(wanted)) return 0;
  if (within.includes(` ${wanted}`)) return 1;
  if (within.includes(wanted)) return 2;
  let at = 0;
  for (const letter of wanted) {
    at = within.indexOf(letter, at) + 1;
    if (at === 0) return null;
  }
  return 3;
}

export function ranked<Item>(
  items: readonly Item[],
  textOf: (item: Item) => string,
  query: string,
): readonly Item[] {
  return items
    .map((item, at) => ({ item, at, rank: rankOf(textOf(item), query) }))
    .filter(({ rank }) => rank !== null)
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || a.at - b.at)
    .map(({ item }) => item);
}
