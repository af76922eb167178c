import { parseEnvelope } from '../../src/protocol/query/envelope.ts';

/** The data of an envelope as text; null for anything but an envelope with data. */
export function envelopeText(text: string): string | null {
  const data = parseEnvelope(text)?.data ?? null;
  return data === null ? null : Buffer.from(data).toString();
}
