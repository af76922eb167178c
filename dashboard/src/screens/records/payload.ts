/** What the data of a record is, and how it can be shown. */
import { encodeHex, latin1Of } from '../../../../src/protocol/encodings.ts';

export type PayloadView = 'text' | 'json' | 'hex' | 'image';

/** Image types that a browser decodes without running anything. SVG is among them only as an `<img>`. */
const IMAGES: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/svg+xml',
]);
const HEX_COLUMNS = 16;

/** Null for octets that are no UTF-8. */
export function utf8(octets: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(octets);
  } catch {
    return null;
  }
}

/** The media type without parameters when a browser can show it as an image, else null. */
export function imageType(contentType: string): string | null {
  const media = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return IMAGES.has(media) ? media : null;
}

/** The views that show these octets, the best one first. */
export function viewsOf(octets: Uint8Array, contentType: string): readonly PayloadView[] {
  const views: PayloadView[] = [];
  if (imageType(contentType) !== null) views.push('image');
  const text = utf8(octets);
  if (text !== null && parsedJson(text) !== undefined) views.push('json');
  if (text !== null) views.push('text');
  return [...views, 'hex'];
}

/** Only objects and lists: a number or a word is read best as text. Undefined for everything else. */
export function parsedJson(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** `00000010  48 65 6c 6c 6f …  Hello…`, 16 octets a line. */
export function hexDump(octets: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < octets.length; at += HEX_COLUMNS) {
    const row = octets.subarray(at, at + HEX_COLUMNS);
    const hex = encodeHex(row).replace(/..(?=.)/g, '$& ');
    const text = latin1Of(row).replace(/[^ -~]/g, '.');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(HEX_COLUMNS * 3 - 1)}  ${text}`);
  }
  return lines.join('\n');
}
