/** CBOR (RFC 8949) of what an authenticator sends: integers, byte strings, text, and maps of them in their order. */
export type CborValue = number | string | Uint8Array | ReadonlyMap<number | string, CborValue>;

export function cbor(value: CborValue): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string') {
    const text = Buffer.from(value, 'utf8');
    return Buffer.concat([head(3, text.length), text]);
  }
  if (value instanceof Uint8Array) return Buffer.concat([head(2, value.length), value]);
  return Buffer.concat([
    head(5, value.size),
    ...[...value].flatMap(([name, item]) => [cbor(name), cbor(item)]),
  ]);
}

function head(type: number, argument: number): Buffer {
  const major = type << 5;
  if (argument < 24) return Buffer.from([major | argument]);
  if (argument < 0x100) return Buffer.from([major | 24, argument]);
  const octets = Buffer.from([major | 25, 0, 0]);
  octets.writeUInt16BE(argument, 1);
  return octets;
}
