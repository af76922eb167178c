/** Where a monitor reads: the log over HTTPS, and the listing of datasets beside it. */
import { createHash } from 'node:crypto';
import { InputError } from '../../../base/errors.ts';
import { isSlug } from '../../../protocol/datasets/query.ts';
import { NOTE_OCTETS } from '../../../protocol/transparency/note.ts';
import type { PolicyWitness } from '../../../protocol/transparency/policy.ts';
import { httpGet } from '../http-get.ts';
import type { ServedDataset } from './served.ts';

/** A page of `GET /datasets`, and a dataset with 100 versions, are shorter. */
const LISTING_OCTETS = 4_194_304;
const PAGE = 100;

/** Null: it is not there. @param max octets @throws InputError when the server does not answer */
export async function readBelow(url: string, max: number, stop: AbortSignal): Promise<Uint8Array | null> {
  const { status, body } = await httpGet(url, max, stop);
  if (status === 200) return body;
  if (status === 404) return null;
  throw new InputError(`${url} answers with HTTP status ${status}`);
}

/**
 * Whether witnesses answer a monitor, whatever they say. @param witnesses of a policy: one without a URL counts as one that answers
 * @returns the names of those that do
 */
export async function witnessesThere(
  witnesses: readonly PolicyWitness[],
  origin: string,
  stop: AbortSignal,
): Promise<ReadonlySet<string>> {
  const hash = createHash('sha256').update(origin).digest('hex');
  const there = await Promise.all(
    witnesses.map(async ({ url }) => {
      if (url === null) return true;
      const answer = await httpGet(`${url.replace(/\/$/, '')}/${hash}/checkpoint`, NOTE_OCTETS, stop).catch(
        () => null,
      );
      return answer !== null && answer.status < 500;
    }),
  );
  return new Set(witnesses.filter((_, at) => there[at]).map(({ name }) => name));
}

/** `GET /api/v1/datasets` beside the log. Null where it is not there. */
export async function servedDatasets(
  logUrl: string,
  stop: AbortSignal,
  onCached: () => void = () => {},
): Promise<AsyncIterable<ServedDataset> | null> {
  const base = `${logUrl.replace(/\/log$/, '')}/api/v1/datasets`;
  const first = await listing(`${base}?limit=${PAGE}`, stop, onCached);
  return first === null ? null : pages(base, first, stop, onCached);
}

interface Listing {
  readonly value: unknown;
  /** URL of the next page, or null. */
  readonly next: string | null;
}

async function listing(url: string, stop: AbortSignal, onCached: () => void): Promise<Listing | null> {
  const { status, body, link, age } = await httpGet(url, LISTING_OCTETS, stop);
  if (age !== undefined) onCached();
  if (status === 404) return null;
  if (status !== 200) throw new InputError(`${url} answers with HTTP status ${status}`);
  const next = /<([^>]+)>;\s*rel="?next"?/.exec(link ?? '')?.[1] ?? null;
  try {
    // The page after of the same listing: only its cursor is taken over.
    const cursor = next === null ? null : new URL(next, url).searchParams.get('cursor');
    return { value: JSON.parse(body.toString()), next: cursor };
  } catch {
    throw new InputError(`${url} is not JSON`);
  }
}

async function* pages(
  base: string,
  first: Listing,
  stop: AbortSignal,
  onCached: () => void,
): AsyncGenerator<ServedDataset, void> {
  for (let page: Listing | null = first; page !== null; ) {
    if (!Array.isArray(page.value)) throw notListing(base);
    for (const entry of page.value as Record<string, unknown>[]) {
      const { slug, latest, version_numbers: numbers } = entry;
      const { version } = (latest ?? {}) as { version?: unknown };
      if (typeof slug !== 'string' || !isSlug(slug) || typeof version !== 'string' || !Array.isArray(numbers))
        throw notListing(base);
      const all =
        numbers.length > 1
          ? await listing(`${base}/${slug}`, stop, onCached)
          : { value: { versions: [latest] } };
      // Retired meanwhile.
      if (all === null) continue;
      const { versions } = all.value as { versions?: unknown };
      if (!Array.isArray(versions)) throw notListing(base);
      yield { slug, latest: version, manifests: [latest, ...versions] };
    }
    const next: string | null = page.next;
    page =
      next === null
        ? null
        : await listing(`${base}?limit=${PAGE}&cursor=${encodeURIComponent(next)}`, stop, onCached);
  }
}

function notListing(url: string): InputError {
  return new InputError(`${url} is not a listing of datasets`);
}
