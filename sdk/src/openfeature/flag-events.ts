import { streamEvents } from '../rest/http/lines.ts';
import { defaultFetch, type Fetch } from '../shared/fetch.ts';
import { pauseMs, retryAfterOf, wait } from '../shared/wait.ts';

interface FlagEventsOptions {
  /** Origin of the REST API, such as `https://uqrp.example.net`. */
  readonly origin: string;
  readonly namespace: string;
  /** Query token; undefined: the namespace is open. */
  readonly token: string | undefined;
  readonly fetch?: Fetch | undefined;
  readonly signal: AbortSignal;
  /** Called when flags may have changed. A stream begins with an event of that, unless it goes on after an earlier one. */
  readonly onChange: () => void;
}

/** The server gives a sign of life each 15 s. */
const SILENCE_MS = 45_000;
/** Seconds after a refusal: a token that has ended does not come back. */
const REFUSED_S = 60;

/** Whether the text is an origin, or the base URL of a server behind a path. */
export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Follows the events of a namespace until the signal. A lost connection is opened again. Never rejects. */
export async function followFlagEvents(options: FlagEventsOptions): Promise<void> {
  const { signal, onChange } = options;
  let last = '';
  let failures = 0;
  while (!signal.aborted) {
    let retryAfter: number | null = null;
    try {
      const response = await open(options, last);
      if (response.ok) {
        for await (const { event, id, data } of streamEvents(response, { signal, silence: SILENCE_MS })) {
          failures = 0;
          if (id !== '') last = id;
          if (event === 'message' && isRefetch(data)) onChange();
        }
      } else {
        const { status, headers } = response;
        retryAfter = status === 429 || status >= 500 ? retryAfterOf(headers) : REFUSED_S;
        await response.body?.cancel();
      }
    } catch {
      // The connection failed or was lost: the refreshes of the provider go on meanwhile.
    }
    failures += 1;
    await wait(pauseMs(failures, retryAfter), signal).catch(() => undefined);
  }
}

function open({ origin, namespace, token, fetch = defaultFetch, signal }: FlagEventsOptions, last: string) {
  const url = `${origin.replace(/\/+$/, '')}/flags/${encodeURIComponent(namespace)}/ofrep/v1/events`;
  const headers = {
    accept: 'text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(last !== '' && { 'last-event-id': last }),
  };
  return fetch(url, { headers, signal });
}

function isRefetch(data: string): boolean {
  try {
    return (JSON.parse(data) as { type?: unknown } | null)?.type === 'refetchEvaluation';
  } catch {
    return false;
  }
}
