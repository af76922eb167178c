/** The part of `fetch` that the client uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export function defaultFetch(url: string, init: RequestInit): Promise<Response> {
  return globalThis.fetch(url, init);
}

/** The runtime's code of a failed connection, such as ECONNREFUSED. Messages are not passed on: they quote headers. */
export function reasonOf(error: unknown): string | null {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: { code?: unknown } | null };
  const found = cause?.code ?? code;
  return typeof found === 'string' && /^[A-Z0-9_]{1,64}$/.test(found) ? found : null;
}
