/** Scripts, texts and style of the page that are loaded when they are first shown. */
import { ApiError } from '../../../sdk/src/uqrp-sdk.ts';
import { api } from '../app/client.ts';
import { type Resource, useResource } from './resource.ts';

/** The server answers, but has no such file any more. */
export class NoSuchPart extends Error {}

/** Loads a part. While the server is away that is repeated by itself. @param name null: there is nothing to load */
export function usePart<T>(name: string | null, load: () => Promise<T>): Resource<T> {
  const part = useResource(name === null ? null : `part ${name}`, () => loadPart(load));
  return part.error instanceof NoSuchPart ? { ...part, again: () => location.reload() } : part;
}

async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    // A browser says the same where the server is away.
    await api.me().catch((failure: unknown) => {
      if (!(failure instanceof ApiError) || failure.status >= 500) throw failure;
    });
    throw new NoSuchPart(String(error));
  }
}
