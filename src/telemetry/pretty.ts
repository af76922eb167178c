const LEVEL_WIDTH = 5;

/**
 * A log line for people: time of day in UTC, level, message, then event and fields as `name=value`.
 * @param line one JSON object as the log writes it
 */
export function prettyLine(line: string): string {
  const { level, time, event, error, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const facts = Object.entries({ event, ...fields }).map(([name, value]) => `${name}=${shown(value)}`);
  const what = error === undefined ? '' : ` error=${JSON.stringify(error)}`;
  return `${clock} ${String(level).toUpperCase().padEnd(LEVEL_WIDTH)} ${String(msg)} (${facts.join(' ')})${what}\n`;
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}
