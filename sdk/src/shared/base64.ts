/** Octets for each call of fromCharCode: the arguments of a call are limited. */
const CHUNK = 8192;

export function toBase64(bytes: Uint8Array): string {
  let latin1 = '';
  for (let at = 0; at < bytes.length; at += CHUNK)
    latin1 += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(latin1);
}

/** @throws an error for text that is not Base64 */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}
