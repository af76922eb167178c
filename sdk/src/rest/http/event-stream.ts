import { type LineOptions, textLines } from './lines.ts';

/** One event of a `text/event-stream`. */
export interface StreamEvent {
  readonly event: string;
  readonly data: string;
  /** The last `id:` of the stream so far. */
  readonly id: string;
}

/** Parses server-sent events (WHATWG HTML, section 9.2). Comments keep the connection alive and are dropped. */
export async function* streamEvents(
  response: Response,
  options: LineOptions = {},
): AsyncGenerator<StreamEvent, void, undefined> {
  let event = '';
  let id = '';
  let data: string[] = [];
  for await (const line of textLines(response, options)) {
    if (line === '') {
      if (data.length > 0) yield { event: event === '' ? 'message' : event, data: data.join('\n'), id };
      event = '';
      data = [];
      continue;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else if (field === 'id' && !value.includes('\0')) id = value;
  }
}
