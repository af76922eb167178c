/** One page of a listing. */
export interface Page<T> {
  readonly items: readonly T[];
  /** The cursor of the page after; null: this is the last. */
  readonly next: string | null;
}

/** Reads the page at a cursor; null: the first. */
export type ReadPage<P> = (cursor: string | null) => Promise<P>;

/**
 * A listing that is read page by page while it is iterated: `for await (const item of listing)`. Each iteration starts
 * at the first page.
 */
export class Listing<T, P extends Page<T> = Page<T>> implements AsyncIterable<T> {
  readonly #read: ReadPage<P>;

  constructor(read: ReadPage<P>) {
    this.#read = read;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  /** The pages themselves. */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let cursor: string | null = null;
    do {
      const page: P = await this.#read(cursor);
      yield page;
      cursor = page.next;
    } while (cursor !== null);
  }

  /** The page at a cursor; the first without one. For programs that show pages. */
  page(cursor: string | null = null): Promise<P> {
    return this.#read(cursor);
  }

  /** Everything. @param limit most items to read */
  async toArray(limit: number = Number.POSITIVE_INFINITY): Promise<T[]> {
    const all: T[] = [];
    if (limit <= 0) return all;
    for await (const item of this) {
      all.push(item);
      if (all.length >= limit) break;
    }
    return all;
  }
}

/**
 * The cursor in the `rel="next"` of a `Link` header. Only the cursor is taken: the client asks at its own base URL, so
 * a `Link` cannot lead the credential to another host.
 */
export function nextCursor(headers: Headers): string | null {
  const link = headers.get('link') ?? '';
  for (const [, target = '', parameters = ''] of link.matchAll(/<([^>]*)>((?:\s*;\s*[^,<]*)?)/g)) {
    if (!/;\s*rel="?next"?\s*(?:;|$)/.test(parameters.trimEnd())) continue;
    const query = target.indexOf('?');
    return query < 0 ? null : new URLSearchParams(target.slice(query + 1)).get('cursor');
  }
  return null;
}
