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

/** Versions of the attributes of one context, as far as they were compared; null: an attribute that is none. */
export type Versions = Map<string, Semver | null>;

/**
 * @param key name of the flag; the salt of rollouts unless the document has its own
 * @param versions for evaluations of several flags in one context: each attribute is parsed once
 */
export function evaluate(
  flag: Flag,
  key: string,
  context: Context,
  versions: Versions = new Map(),
): Decision {
  if (!flag.enabled) return { kind: 'disabled' };
  const salt = flag.salt ?? key;
  for (const { when, serve } of flag.targeting) {
    if (!when.every((condition) => holds(condition, context, versions))) continue;
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
function holds({ attribute, op, value, not }: Condition, context: Context, versions: Versions): boolean {
  const actual = Object.hasOwn(context, attribute) ? context[attribute] : undefined;
  const result = op.startsWith('semver')
    ? compareVersions(op, versionOf(attribute, actual, versions), value as Semver)
    : compare(op, actual, value);
  return result === null ? false : result !== not;
}

/** Null when the two cannot be compared. */
function compare(op: Condition['op'], actual: unknown, value: Condition['value']): boolean | null {
  if (op === 'in') return isScalar(actual) ? (value as readonly Scalar[]).includes(actual) : null;
  if (op === 'equals') return typeof actual === typeof value ? actual === value : null;
  if (op === 'prefix') return typeof actual === 'string' ? actual.startsWith(value as string) : null;
  if (typeof actual !== 'number' || Number.isNaN(actual)) return null;
  return ordered(op as Comparison, actual - (value as number));
}

function versionOf(attribute: string, actual: unknown, versions: Versions): Semver | null {
  if (typeof actual !== 'string') return null;
  let version = versions.get(attribute);
  if (version === undefined) {
    version = parseSemver(actual);
    versions.set(attribute, version);
  }
  return version;
}

function compareVersions(op: Condition['op'], actual: Semver | null, value: Semver): boolean | null {
  if (actual === null) return null;
  return ordered(op.slice('semver'.length) as Comparison | '=', compareSemver(actual, value));
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
  const difference = a.major - b.major || a.minor - b.minor || a.patch - b.patch;
  if (difference !== 0 || a.prerelease === b.prerelease) return difference;
  if (a.prerelease === '' || b.prerelease === '') return b.prerelease.length - a.prerelease.length;
  return comparePrereleases(a.prerelease, b.prerelease);
}

/** The first identifiers that differ decide: in the one form that numbers have, those that differ as texts. */
function comparePrereleases(a: string, b: string): number {
  const least = Math.min(a.length, b.length);
  let at = 0;
  while (at < least && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  // One ends where the other has an identifier more.
  const isOver = at === least && (a[at] ?? b[at]) === '.';
  const begin = isOver ? at + 1 : a.lastIndexOf('.', at - 1) + 1;
  return compareIdentifiers(identifierAt(a, begin), identifierAt(b, begin));
}

/** Undefined: there is none more. */
function identifierAt(prerelease: string, begin: number): string | undefined {
  if (begin > prerelease.length) return undefined;
  const end = prerelease.indexOf('.', begin);
  return prerelease.slice(begin, end === -1 ? undefined : end);
}

function compareIdentifiers(a: string | undefined, b: string | undefined): number {
  if (a === undefined || b === undefined) return (a === undefined ? 0 : 1) - (b === undefined ? 0 : 1);
  const [isNumberA, isNumberB] = [/^[0-9]+$/.test(a), /^[0-9]+$/.test(b)];
  if (isNumberA && isNumberB) return Number(a) - Number(b);
  // Numbers come before words.
  if (isNumberA !== isNumberB) return isNumberA ? -1 : 1;
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
