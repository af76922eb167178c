import { encodeBase64, encodeHex } from '../../../../src/protocol/encodings.ts';
import { typeName } from './codes.ts';
import { type DnsName, escaped } from './dns-name.ts';
import type { FieldForm } from './rdata.ts';

/** A field as master files print it. @param value of the field's form */
export function fieldText(form: FieldForm, value: unknown): string {
  switch (form) {
    case 'type':
      return typeName(value as number);
    case 'time':
      return timeText(value as number);
    case 'name':
      return absolute(value as DnsName);
    case 'address':
      return addressText(value as Uint8Array);
    case 'strings':
      return (value as readonly Uint8Array[]).map(quoted).join(' ');
    case 'hex':
      return encodeHex(value as Uint8Array).toUpperCase();
    case 'base64':
      return encodeBase64(value as Uint8Array);
    case 'bitmap':
      return (value as readonly number[]).map(typeName).join(' ');
    default:
      return String(value as number);
  }
}

/** With the dot at the end. */
export function absolute({ text }: DnsName): string {
  return text === '.' ? text : `${text}.`;
}

/** A character string in quotes. */
export function quoted(octets: Uint8Array): string {
  return `"${escaped(octets, '"\\', 0x20)}"`;
}

/** `20261122200405` (RFC 4034, section 3.2). */
function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(/\.\d+Z$|[-:T]/g, '');
}

function addressText(octets: Uint8Array): string {
  if (octets.length === 4) return octets.join('.');
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((octets[2 * at] ?? 0) << 8) | (octets[2 * at + 1] ?? 0)).toString(16),
  );
  // The URL parser shortens the longest run of zeros (RFC 5952).
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}
