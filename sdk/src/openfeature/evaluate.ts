import {
  type Comparison,
  type Condition,
  type Flag,
  parseSemver,
  ROLLOUT_PARTS,
  type Rollout,
  type Scalar,
  type Semver,
} from './flag.ts';

/** Attributes of the subject of an evaluation, as OpenFeature passes them. */
export type Context = Readonly<Record<string, unknown>> & { readonly targetingKey?: string };

export type Decision =
  | { readonly kind: 'disabled' }
  /** A rollout decides here, and there is no targeting key. */
  | { readonly kind: 'no targeting key' }
  | {
      readonly kind: 'variant';
      readonly variant: string;
      readonly why: 'static' | 'default' | 'match' | 'split';
    };

/** @param key name of the flag; the salt of rollouts unless the document has its own */
export function evaluate(flag: Flag, key: string, context: Context): Decision {
  if (!flag.enabled) return { kind: 'disabled' };
  const salt = flag.salt ?? key;
  for (const { when, serve } of flag.targeting) {
    if (!when.every((condition) => holds(condition, context))) continue;
    if ('variant' in serve) return { kind: 'variant', variant: serve.variant, why: 'match' };
    return split(serve.rollout, flag, salt, context);
  }
  if (flag.rollout !== null) return split(flag.rollout, flag, salt, context);
  const why = flag.targeting.length === 0 ? 'static' : 'default';
  return { kind: 'variant', variant: flag.defaultVariant, why };
}

function split(rollout: Rollout, flag: Flag, salt: string, { targetingKey }: Context): Decision {
  if (targetingKey === undefined || targetingKey === '') return { kind: 'no targeting key' };
  const bucket = bucketOf(salt, targetingKey);
  let end = 0;
  for (const [variant, parts] of rollout) {
    end += parts;
    if (bucket < end) return { kind: 'variant', variant, why: 'split' };
  }
  return { kind: 'variant', variant: flag.defaultVariant, why: 'split' };
}

/** 0 to 99,999. The same for the same salt and key in every process and every version of this package. */
export function bucketOf(salt: string, targetingKey: string): number {
  return Math.floor((murmur3(`${salt}:${targetingKey}`) / 2 ** 32) * ROLLOUT_PARTS);
}

/** A condition on an attribute that is missing or of another type does not hold, with `not` neither. */
function holds({ attribute, op, value, not }: Condition, context: Context): boolean {
  const actual = Object.hasOwn(context, attribute) ? context[attribute] : undefined;
  const result = compare(op, actual, value);
  return result === null ? false : result !== not;
}

/** Null when the two cannot be compared. */
function compare(op: Condition['op'], actual: unknown, value: Condition['value']): boolean | null {
  if (op === 'in') return isScalar(actual) ? (value as readonly Scalar[]).includes(actual) : null;
  if (op === 'equals') return typeof actual === typeof value ? actual === value : null;
  if (op === 'prefix') return typeof actual === 'string' ? actual.startsWith(value as string) : null;
  if (op.startsWith('semver')) {
    const [a, b] = [parseSemver(actual), parseSemver(value)];
    if (a === null || b === null) return null;
    return ordered(op.slice('semver'.length) as Comparison | '=', compareSemver(a, b));
  }
  if (typeof actual !== 'number' || Number.isNaN(actual)) return null;
  return ordered(op as Comparison, actual - (value as number));
}

function ordered(op: Comparison | '=', difference: number): boolean {
  if (op === '=') return difference === 0;
  if (op === '<') return difference < 0;
  if (op === '<=') return difference <= 0;
  return op === '>' ? difference > 0 : difference >= 0;
}

function isScalar(value: unknown): value is Scalar {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

/** Order of semver.org, section 11: negative, 0 or positive. */
export function compareSemver(a: Semver, b: Semver): number {
  for (const index of [0, 1, 2] as const) {
    if (a.numbers[index] !== b.numbers[index]) return a.numbers[index] - b.numbers[index];
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return b.prerelease.length - a.prerelease.length;
  for (let index = 0; index < Math.max(a.prerelease.length, b.prerelease.length); index += 1) {
    const difference = compareIdentifiers(a.prerelease[index], b.prerelease[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 0 : 1) - (b === undefined ? 0 : 1);
  const [isNumberA, isNumberB] = [/^[0-9]+$/.test(a), /^[0-9]+$/.test(b)];
  if (isNumberA && isNumberB) return Number(a) - Number(b);
  // Numbers come before words.
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

const UTF8 = new TextEncoder();
/** Holds one short text of ASCII, which most are: to encode it takes ten times as long as to hash it. */
const ASCII = new DataView(new ArrayBuffer(256));

/** MurmurHash3, 32 bits, of the UTF-8 of a text (Austin Appleby, public domain). */
export function murmur3(text: string, seed = 0): number {
  const octets = isShortAscii(text) ? ASCII : viewOf(UTF8.encode(text));
  const length = octets === ASCII ? text.length : octets.byteLength;
  const whole = length & ~3;
  let hash = seed;
  for (let at = 0; at < whole; at += 4) {
    hash ^= scrambled(octets.getUint32(at, true));
    hash = Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64;
  }
  let tail = 0;
  for (let at = length - 1; at >= whole; at -= 1) tail = (tail << 8) | octets.getUint8(at);
  hash ^= scrambled(tail) ^ length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Whether it is; then `ASCII` has it. */
function isShortAscii(text: string): boolean {
  if (text.length > ASCII.byteLength) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 127) return false;
    ASCII.setUint8(at, code);
  }
  return true;
}

function scrambled(block: number): number {
  const mixed = Math.imul(block, 0xcc9e2d51);
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
