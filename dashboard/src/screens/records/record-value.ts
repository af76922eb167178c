/** The value of a record in one line of the list. */
import { decodeBase64, encodeHex } from '../../../../src/protocol/encodings.ts';
import { minified } from './json-text.ts';
import { imageType, parsedJson, utf8 } from './payload.ts';

export type ValueKind = 'empty' | 'text' | 'json' | 'image' | 'hex' | 'encrypted' | 'signed';

export interface ValuePreview {
  readonly kind: ValueKind;
  /** At most `SHOWN` characters. Of an encrypted or signed value the id of its key. */
  readonly text: string;
  /** The whole value where it is one short line of text: it can be changed at once. */
  readonly line: string | null;
  /** For an `<img>`. */
  readonly image?: string;
}

/** Characters that are kept of a value: 50,000 rows are. */
const SHOWN = 200;
const HEX_SHOWN = 24;
/** First octets of the forms of docs/ENCRYPTION.md, with the least number of octets. */
const [ENCRYPTED, ENCRYPTED_LEAST] = [2, 43];
const [SIGNED, SIGNED_LEAST] = [3, 79];
const [ID_AT, ID_END] = [1, 9];

export function previewOf(data: string, contentType: string): ValuePreview {
  const octets = decodeBase64(data) ?? new Uint8Array();
  if (octets.length === 0) return { kind: 'empty', text: '', line: '' };
  const image = imageType(contentType);
  if (image !== null) {
    const text = [sizeOfPng(octets), image.slice('image/'.length).replace('+xml', '').toUpperCase()];
    return {
      kind: 'image',
      text: text.join(' ').trim(),
      line: null,
      image: `data:${image};base64,${data}`,
    };
  }
  const form = contentType === 'application/octet-stream' ? octets[0] : undefined;
  const id = encodeHex(octets.subarray(ID_AT, ID_END));
  if (form === ENCRYPTED && octets.length >= ENCRYPTED_LEAST)
    return { kind: 'encrypted', text: id, line: null };
  if (form === SIGNED && octets.length >= SIGNED_LEAST) return { kind: 'signed', text: id, line: null };
  const text = utf8(octets);
  if (text === null || text.includes('\0')) {
    const hex = encodeHex(octets.subarray(0, HEX_SHOWN)).replace(/..(?=.)/g, '$& ');
    return { kind: 'hex', text: octets.length > HEX_SHOWN ? `${hex} …` : hex, line: null };
  }
  const isJson = parsedJson(text) !== undefined;
  const line = isJson ? minified(text) : text;
  return {
    kind: isJson ? 'json' : 'text',
    text: line.length > SHOWN ? `${line.slice(0, SHOWN)}…` : line,
    line: isJson || line.length > SHOWN || /[\r\n]/.test(text) ? null : text,
  };
}

/** `16 × 16`; empty where it is no PNG. */
function sizeOfPng(octets: Uint8Array): string {
  if (octets.length < 24 || encodeHex(octets.subarray(0, 4)) !== '89504e47') return '';
  const view = new DataView(octets.buffer, octets.byteOffset);
  return `${view.getUint32(16)} × ${view.getUint32(20)}`;
}

const WORDS: Readonly<Record<string, string>> = {
  'text/plain': 'text',
  'application/json': 'json',
  'application/octet-stream': 'binary',
  'image/svg+xml': 'svg',
};

/** A short word for a media type. */
export function typeWord(contentType: string): string {
  const media = (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
  return WORDS[media] ?? media.slice(media.indexOf('/') + 1);
}
