/** The document of a flag, version 1 (docs/FLAGS.md). */
export interface Flag {
  readonly enabled: boolean;
  readonly type: FlagType;
  readonly variants: ReadonlyMap<string, FlagValue>;
  readonly defaultVariant: string;
  readonly targeting: readonly Rule[];
  readonly rollout: Rollout | null;
  readonly salt: string | null;
}

export type FlagType = 'boolean' | 'string' | 'number' | 'object';
export type FlagValue = boolean | string | number | object;

/** The first rule whose conditions all hold decides. */
export interface Rule {
  readonly when: readonly Condition[];
  readonly serve: { readonly variant: string } | { readonly rollout: Rollout };
}

export interface Condition {
  readonly attribute: string;
  readonly op: Operator;
  /** A version for `semver...`, so that an evaluation parses none. */
  readonly value: Scalar | readonly Scalar[] | Semver;
  readonly not: boolean;
}

export type Scalar = string | number | boolean;
export type Operator = 'equals' | 'in' | 'prefix' | Comparison | `semver${Comparison | '='}`;
export type Comparison = '<' | '<=' | '>' | '>=';

/** Variants and their parts of 100,000, in the order of the document. Their sum is at most 100,000. */
export type Rollout = readonly (readonly [variant: string, parts: number])[];

/** Parts of a whole rollout: percentages have up to three decimals. */
export const ROLLOUT_PARTS = 100_000;

/** What is wrong with a document. The message holds names of fields, not their values. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

/** Letters of an unknown field that a message shows. */
const SHOWN_NAME = 64;
const FIELDS = ['version', 'enabled', 'variants', 'defaultVariant', 'targeting', 'rollout', 'salt'];
const COMPARISONS: readonly string[] = ['<', '<=', '>', '>='];
const SEMVER_OPERATORS: readonly string[] = ['semver=', ...COMPARISONS.map((op) => `semver${op}`)];
const VARIANT = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;

/** @param text JSON @throws FlagError for anything that is not exactly a document of version 1 */
export function parseFlag(text: string): Flag {
  const body = object(json(text), 'the document', FIELDS);
  if (body.version !== 1) throw new FlagError('version must be 1');
  const variants = readVariants(body.variants);
  const { enabled = true, defaultVariant, targeting = [], rollout, salt = null } = body;
  if (typeof enabled !== 'boolean') throw new FlagError('enabled must be true or false');
  if (salt !== null && typeof salt !== 'string') throw new FlagError('salt must be text');
  if (!Array.isArray(targeting)) throw new FlagError('targeting must be an array');
  return {
    enabled,
    type: typeOf(variants),
    variants,
    defaultVariant: known(defaultVariant, variants, 'defaultVariant'),
    targeting: targeting.map((rule, index) => readRule(rule, variants, `targeting[${index}]`)),
    rollout: rollout === undefined ? null : readRollout(rollout, variants, 'rollout'),
    salt,
  };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FlagError('the document is not JSON');
  }
}

function readVariants(value: unknown): ReadonlyMap<string, FlagValue> {
  const entries = Object.entries(object(value, 'variants', null));
  if (entries.length === 0) throw new FlagError('variants must have at least one');
  for (const [name, one] of entries) {
    // Names that look like integers would change their order in JSON, and the order decides a rollout.
    if (!VARIANT.test(name)) throw new FlagError('variants must have names of letters, digits, _ and -');
    if (one === null) throw new FlagError('variants must not be null');
  }
  return new Map(entries as [string, FlagValue][]);
}

/** All variants have one type. */
function typeOf(variants: ReadonlyMap<string, FlagValue>): FlagType {
  const types = new Set([...variants.values()].map((value) => typeof value));
  if (types.size !== 1) throw new FlagError('variants must all have the same type');
  const [type] = types;
  return type as FlagType;
}

function readRule(value: unknown, variants: ReadonlyMap<string, unknown>, at: string): Rule {
  const { when, variant, rollout } = object(value, at, ['when', 'variant', 'rollout']);
  if (!Array.isArray(when) || when.length === 0)
    throw new FlagError(`${at}.when must be an array of conditions`);
  if ((variant === undefined) === (rollout === undefined)) {
    throw new FlagError(`${at} must have either variant or rollout`);
  }
  return {
    when: when.map((condition, index) => readCondition(condition, `${at}.when[${index}]`)),
    serve:
      rollout === undefined
        ? { variant: known(variant, variants, `${at}.variant`) }
        : { rollout: readRollout(rollout, variants, `${at}.rollout`) },
  };
}

function readCondition(condition: unknown, at: string): Condition {
  const { attribute, op, value, not = false } = object(condition, at, ['attribute', 'op', 'value', 'not']);
  if (typeof attribute !== 'string' || attribute === '') throw new FlagError(`${at}.attribute must be text`);
  if (typeof not !== 'boolean') throw new FlagError(`${at}.not must be true or false`);
  if (!isOperator(op)) throw new FlagError(`${at}.op is not known`);
  return { attribute, op, value: operand(op, value, `${at}.value`), not };
}

function isOperator(op: unknown): op is Operator {
  if (typeof op !== 'string') return false;
  return ['equals', 'in', 'prefix'].includes(op) || COMPARISONS.includes(op) || SEMVER_OPERATORS.includes(op);
}

function operand(op: Operator, value: unknown, at: string): Condition['value'] {
  if (op === 'in') {
    if (!Array.isArray(value) || !value.every(isScalar)) {
      throw new FlagError(`${at} must be an array of text, numbers, true and false`);
    }
    return value;
  }
  if (!isScalar(value)) throw new FlagError(`${at} must be text, a number, true or false`);
  if (op === 'prefix' && typeof value !== 'string') throw new FlagError(`${at} must be text`);
  if (COMPARISONS.includes(op) && typeof value !== 'number') throw new FlagError(`${at} must be a number`);
  if (!op.startsWith('semver')) return value;
  const version = parseSemver(value);
  if (version === null) throw new FlagError(`${at} must be a version`);
  return version;
}

function isScalar(value: unknown): value is Scalar {
  return ['string', 'number', 'boolean'].includes(typeof value);
}

function readRollout(value: unknown, variants: ReadonlyMap<string, unknown>, at: string): Rollout {
  let sum = 0;
  const rollout = Object.entries(object(value, at, null)).map(([variant, percentage]) => {
    const parts = typeof percentage === 'number' ? Math.round(percentage * 1000) : -1;
    const isWhole = Math.abs(parts - Number(percentage) * 1000) < 1e-6;
    if (!isWhole || parts < 0) throw new FlagError(`${at} must have percentages with at most three decimals`);
    sum += parts;
    return [known(variant, variants, at), parts] as const;
  });
  if (sum > ROLLOUT_PARTS) throw new FlagError(`${at} must have a sum of at most 100`);
  return rollout;
}

function known(variant: unknown, variants: ReadonlyMap<string, unknown>, at: string): string {
  if (typeof variant !== 'string' || !variants.has(variant)) throw new FlagError(`${at} must name a variant`);
  return variant;
}

/** @param fields names that it may have; null: any */
function object(
  value: unknown,
  at: string,
  fields: readonly string[] | null,
): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new FlagError(`${at} must be an object`);
  }
  const unknown = fields && Object.keys(value).find((name) => !fields.includes(name));
  if (unknown != null) {
    throw new FlagError(
      `${at} has a field ${JSON.stringify(unknown.slice(0, SHOWN_NAME))} that is not known`,
    );
  }
  return value as Readonly<Record<string, unknown>>;
}

/** A version of semver.org. */
export interface Semver {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Identifiers of a pre-release, with dots between them and numbers in one form: equal texts are equal versions, others are not. */
  readonly prerelease: string;
}

const NUMBER = '(0|[1-9][0-9]{0,14})';
const SEMVER = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+[0-9A-Za-z.-]+)?$`,
);

/** Null for anything that is not a version. */
export function parseSemver(text: unknown): Semver | null {
  const match = typeof text === 'string' && text.length <= 256 ? SEMVER.exec(text) : null;
  if (match === null) return null;
  const [, major, minor, patch, prerelease = ''] = match;
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    prerelease: prerelease.split('.').map(oneForm).join('.'),
  };
}

/** Numbers may have leading zeros, and more digits than are compared. */
function oneForm(identifier: string): string {
  return /^[0-9]+$/.test(identifier) ? BigInt(Number(identifier)).toString() : identifier;
}
