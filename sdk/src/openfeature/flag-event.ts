import { decodeBase64 } from '../../../src/protocol/encodings.ts';
import type { WebhookPayload } from '../webhooks/payload.ts';

/** What an event says of a flag. */
export interface FlagEvent {
  readonly key: string;
  /** The document; null: it was deleted. */
  readonly text: string | null;
  readonly seq: number;
}

/** Null for events that are not of a flag of this namespace. */
export function eventOfFlag(payload: WebhookPayload, namespace: string): FlagEvent | null {
  if (payload.event !== 'record.upserted' && payload.event !== 'record.deleted') return null;
  const suffix = `.flags.${namespace.toLowerCase()}.v1`;
  const { key } = payload.data;
  if (!key.endsWith(suffix)) return null;
  const data = payload.event === 'record.upserted' ? payload.data.data : null;
  return { key: key.slice(0, -suffix.length), text: data === null ? null : decoded(data), seq: payload.seq };
}

/** Text that is no document for data that is no text. */
function decoded(data: string): string {
  const octets = decodeBase64(data);
  if (octets === null) return '';
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets);
  } catch {
    return '';
  }
}
