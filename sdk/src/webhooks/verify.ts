/**
 * The receiver's side of webhooks (docs/WEBHOOKS.md). The folder imports nothing from outside, so that receivers can
 * copy it instead of installing the package, and runtimes without Node's modules can load it.
 */
import type { WebhookPayload } from './payload.ts';
import { readPayload } from './read-payload.ts';
import { parseHeader, type SignatureHeader } from './signature-header.ts';
import { WebhookVerificationError } from './verification-error.ts';

const TOLERANCE_SECONDS = 300;
const SECRET = /^[0-9a-f]{64}$/;

export interface VerifyOptions {
  /** Maximum difference between `t` and now, past or future, seconds, inclusive. Default 300. */
  readonly toleranceSeconds?: number | undefined;
  /** Milliseconds since the epoch, or a function that returns them. Default `Date.now`. */
  readonly now?: number | (() => number) | undefined;
}

/** `signing_secret` of the webhook, or several of them: `[new, old]` while a secret is replaced. One must match. */
export type SigningSecrets = string | readonly string[];

/**
 * Checks that a request comes from the service, is unchanged and is recent, and parses its body. It checks the
 * signature first, then the age, and parses the body last.
 *
 * @param rawBody the request's body exactly as it arrived, before any parser
 * @param header the value of `X-Service-Signature`; anything but one string is rejected
 * @param secrets 64 hexadecimal characters each
 * @throws WebhookVerificationError when the request must be rejected
 * @throws TypeError when the body is not raw, or the runtime has no `node:crypto`, RangeError for a negative tolerance:
 * faults of the calling program
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | undefined,
  secrets: SigningSecrets,
  options: VerifyOptions = {},
): WebhookPayload {
  const { t, signatures, keys, message } = claimOf(rawBody, header, secrets, options);
  const crypto = nodeCrypto();
  const isGenuine = keys.some((key) => {
    const expected = crypto.createHmac('sha256', key).update(message).digest();
    return signatures.some((signature) => crypto.timingSafeEqual(signature, expected));
  });
  return accept(isGenuine, t, rawBody, options);
}

/** The same as `verifyWebhook`, by WebCrypto: for Workers, Deno, Bun and browsers. Rejects where that one throws. */
export async function verifyWebhookAsync(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secrets: SigningSecrets,
  options: VerifyOptions = {},
): Promise<WebhookPayload> {
  const { t, signatures, keys, message } = claimOf(rawBody, header, secrets, options);
  const { subtle } = globalThis.crypto;
  let isGenuine = false;
  for (const text of keys) {
    const bytes = new TextEncoder().encode(text);
    const key = await subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
    // HMAC verification of WebCrypto compares in constant time.
    for (const signature of signatures) isGenuine ||= await subtle.verify('HMAC', key, signature, message);
  }
  return accept(isGenuine, t, rawBody, options);
}

interface NodeCrypto {
  createHmac(name: string, key: string): { update(octets: Uint8Array): { digest(): Uint8Array } };
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
}

/** Not a static import: bundlers for browsers and Workers fail on those even where `verifyWebhook` is not called. */
function nodeCrypto(): NodeCrypto {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeCrypto | undefined } };
  const found = process?.getBuiltinModule?.('node:crypto');
  if (found === undefined) {
    throw new TypeError('verifyWebhook needs node:crypto. Call verifyWebhookAsync on this runtime');
  }
  return found;
}

/** What a request claims, and what it is checked with. */
interface Claim extends SignatureHeader {
  readonly keys: readonly string[];
  /** The octets that are signed. */
  readonly message: Uint8Array<ArrayBuffer>;
}

function claimOf(rawBody: unknown, header: unknown, secrets: SigningSecrets, options: VerifyOptions): Claim {
  if (options.toleranceSeconds !== undefined && !(options.toleranceSeconds >= 0)) {
    throw new RangeError('toleranceSeconds must not be negative');
  }
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new TypeError('rawBody must be the body as it arrived: a Buffer, a Uint8Array or a string');
  }
  const keys = typeof secrets === 'string' ? [secrets] : secrets;
  if (
    !Array.isArray(keys) ||
    keys.length === 0 ||
    !keys.every((key) => typeof key === 'string' && SECRET.test(key))
  ) {
    throw new WebhookVerificationError('malformed_secret');
  }
  const { t, signatures } = parseHeader(header);
  const encoder = new TextEncoder();
  const head = encoder.encode(`${t}.`);
  const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody;
  const message = new Uint8Array(head.length + body.length);
  message.set(head);
  message.set(body, head.length);
  return { t, signatures, keys, message };
}

/** The signature decides before the age, and nothing of the body is parsed before both. */
function accept(
  isGenuine: boolean,
  t: number,
  rawBody: string | Uint8Array,
  options: VerifyOptions,
): WebhookPayload {
  const { toleranceSeconds = TOLERANCE_SECONDS, now = Date.now } = options;
  if (!isGenuine) throw new WebhookVerificationError('no_match');
  const age = Math.floor((typeof now === 'number' ? now : now()) / 1000) - t;
  // Negated, so that NaN from the clock rejects the request.
  if (!(Math.abs(age) <= toleranceSeconds)) throw new WebhookVerificationError('outside_tolerance');
  return readPayload(rawBody);
}
