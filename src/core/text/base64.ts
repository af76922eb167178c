const CANONICAL = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

/** Strict: standard alphabet, padded, no white space, unused bits zero (RFC 4648 §3.5, §4). Else null. */
export function decodeBase64(text: string): Buffer | null {
  return CANONICAL.test(text) ? Buffer.from(text, 'base64') : null;
}
