/** Why a signature does not fit: for tools that help to write a receiver. A receiver itself calls `verifyWebhook`. */
import { parseHeader } from './signature-header.ts';
import { WebhookVerificationError, type WebhookVerificationReason } from './verification-error.ts';

/**
 * What was done to make a signature that does not fit.
 * - `body_rewritten`: over a body that was parsed and written again
 * - `body_line_end`: over a body with another end of line
 * - `secret_decoded`: with the octets that the letters of the secret spell
 * - `time_missing`: over the body alone, without `<t>.`
 */
export type SignatureHint = 'body_rewritten' | 'body_line_end' | 'secret_decoded' | 'time_missing';

export interface SignatureExplanation {
  readonly result: 'genuine' | Exclude<WebhookVerificationReason, 'malformed_body'>;
  /** Unix seconds of the header; null without a header that can be read. */
  readonly t: number | null;
  /** Seconds since `t`; negative: from the future. */
  readonly ageSeconds: number | null;
  /** `<t>.<body>`. */
  readonly signedText: string | null;
  /** Hexadecimal HMAC of it; null without a usable secret. */
  readonly expected: string | null;
  /** The `v1` of the header, hexadecimal. */
  readonly given: readonly string[];
  readonly hints: readonly SignatureHint[];
}

export interface ExplainOptions {
  /** A signature that the receiver's program computed: the hints are then for it as well. */
  readonly computed?: string | undefined;
  /** Milliseconds since the epoch. Default: now. */
  readonly now?: number | undefined;
}

const TOLERANCE_SECONDS = 300;
const SECRET = /^[0-9a-f]{64}$/;

/** Computes the signature of a body by WebCrypto, and tries the usual mistakes when none fits. */
export async function explainSignature(
  rawBody: string,
  header: string,
  secret: string,
  { computed = '', now = Date.now() }: ExplainOptions = {},
): Promise<SignatureExplanation> {
  const parsed = parsedHeader(header);
  const t = parsed?.t ?? null;
  const given = parsed?.given ?? [];
  const signedText = t === null ? null : `${t}.${rawBody}`;
  const isSecret = SECRET.test(secret);
  const expected = signedText !== null && isSecret ? await hmac(secret, signedText) : null;
  const ageSeconds = t === null ? null : Math.floor(now / 1000) - t;
  const own = computed.trim().toLowerCase();
  const wrong = [...given, own].filter((one) => one !== '' && one !== expected);
  const hints = t === null || !isSecret ? [] : await hintsOf(t, rawBody, secret, wrong);
  const base = { t, ageSeconds, signedText, expected, given, hints };
  if (!isSecret) return { ...base, result: 'malformed_secret' };
  if (parsed === null || ageSeconds === null) return { ...base, result: 'malformed_header' };
  if (expected === null || !given.includes(expected)) return { ...base, result: 'no_match' };
  return { ...base, result: Math.abs(ageSeconds) > TOLERANCE_SECONDS ? 'outside_tolerance' : 'genuine' };
}

function parsedHeader(header: string): { readonly t: number; readonly given: readonly string[] } | null {
  try {
    const { t, signatures } = parseHeader(header.trim());
    return { t, given: signatures.map(hexOf) };
  } catch (error) {
    if (error instanceof WebhookVerificationError) return null;
    throw error;
  }
}

/** The mistakes that lead to one of the signatures. */
async function hintsOf(
  t: number,
  body: string,
  secret: string,
  wrong: readonly string[],
): Promise<readonly SignatureHint[]> {
  if (wrong.length === 0) return [];
  const octets = Uint8Array.from(secret.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const tries: readonly (readonly [SignatureHint, string | Uint8Array<ArrayBuffer>, string])[] = [
    ...rewritten(body).map((text) => ['body_rewritten', secret, `${t}.${text}`] as const),
    ...lineEnds(body).map((text) => ['body_line_end', secret, `${t}.${text}`] as const),
    ['secret_decoded', octets, `${t}.${body}`],
    ['time_missing', secret, body],
  ];
  const found = new Set<SignatureHint>();
  for (const [hint, key, text] of tries) if (wrong.includes(await hmac(key, text))) found.add(hint);
  return [...found];
}

/** The body as JSON libraries write it: compact, with spaces as Python does, and indented. */
function rewritten(body: string): readonly string[] {
  try {
    const value: unknown = JSON.parse(body);
    const compact = JSON.stringify(value);
    const spaced = JSON.stringify(value, null, 1)
      .replace(/\n */g, ' ')
      .replace(/([{[]) | ([}\]])/g, '$1$2');
    const all = [compact, spaced, JSON.stringify(value, null, 2), JSON.stringify(value, null, 4)];
    return all.filter((text) => text !== body);
  } catch {
    return [];
  }
}

function lineEnds(body: string): readonly string[] {
  const all = [
    body.trimEnd(),
    `${body}\n`,
    `${body}\r\n`,
    body.replace(/\r\n/g, '\n'),
    body.replace(/\n/g, '\r\n'),
  ];
  return all.filter((text) => text !== body);
}

async function hmac(secret: string | Uint8Array<ArrayBuffer>, text: string): Promise<string> {
  const { subtle } = globalThis.crypto;
  const encoder = new TextEncoder();
  const octets = typeof secret === 'string' ? encoder.encode(secret) : secret;
  const key = await subtle.importKey('raw', octets, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return hexOf(new Uint8Array(await subtle.sign('HMAC', key, encoder.encode(text))));
}

function hexOf(octets: Uint8Array): string {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, '0')).join('');
}
