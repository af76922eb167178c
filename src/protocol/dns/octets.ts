/** Big-endian reads and writes. The caller checks the bounds; only copies allocate. */

const SHORT_COPY = 64;

export function u16At(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

export function put16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

export function u32At(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
}

/** A copy that never shares memory with a receive buffer. `slice` of a Buffer would return a view. */
export function copyOctets(bytes: Uint8Array, start: number, end: number): Uint8Array<ArrayBuffer> {
  const length = end - start;
  const copy = new Uint8Array(length);
  if (length > SHORT_COPY) {
    copy.set(bytes.subarray(start, end));
    return copy;
  }
  for (let i = 0; i < length; i++) copy[i] = bytes[start + i]!;
  return copy;
}

export function concatOctets(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}
