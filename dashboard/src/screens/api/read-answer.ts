/** What an answer looks like while it is read, and afterwards. */
export interface ShownAnswer {
  readonly status: number;
  /** Milliseconds until the head of the answer. */
  readonly ms: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
  /** `cut`: the rest was not read, because it is too long. */
  readonly state: 'reading' | 'whole' | 'cut';
}

/** Headers that say something about this API. */
const SHOWN_HEADERS: ReadonlySet<string> = new Set([
  'content-type',
  'etag',
  'location',
  'retry-after',
  'x-request-id',
]);
/** Characters of a body that are shown: an export or a stream may be endless. */
const BODY_MAX = 100_000;

/**
 * Reads the body of an answer, and shows it as it arrives: the query log's stream ends only when it is stopped.
 * @param show called for each part
 */
export async function readAnswer(
  response: Response,
  ms: number,
  show: (answer: ShownAnswer) => void,
): Promise<void> {
  const { status } = response;
  const headers = [...response.headers].filter(
    ([name]) => SHOWN_HEADERS.has(name) || name.startsWith('x-service-'),
  );
  const decoder = new TextDecoder();
  let body = '';
  const say = (state: ShownAnswer['state']): void => show({ status, ms, headers, body, state });
  say('reading');
  const reader = response.body?.getReader();
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    body += decoder.decode(value, { stream: true });
    if (body.length > BODY_MAX) {
      body = body.slice(0, BODY_MAX);
      say('cut');
      await reader.cancel();
      return;
    }
    say('reading');
  }
  const type = response.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) body = prettyJson(body);
  say('whole');
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
