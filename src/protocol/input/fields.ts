import { LIMITS } from '../../base/limits.ts';
import { NOT_A_TIME, parseTime } from '../../base/time.ts';

/** Messages in one response. It bounds the response to a body with many faults. */
const FAULTS_MAX = 1000;

const PRINTABLE_NAME = /^[ -~]{1,64}$/;

const CONTROL = /[\p{Cc}\u2028\u2029]/u;

export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === 'string';
}

export function isOneLine(text: string): boolean {
  return text.trim() !== '' && text.isWellFormed() && !CONTROL.test(text);
}

/** A printable ASCII name of at most 64 characters, else its position in the request from 1: `field 3`. */
export function shownName(name: string, what: 'field' | 'parameter', position: number): string {
  return PRINTABLE_NAME.test(name) ? name : `${what} ${position}`;
}

export function hasAtMost(text: string, max: number): boolean {
  // A code point has one or two UTF-16 units: a longer text is not counted.
  return text.length <= max || (text.length <= 2 * max && Array.from(text).length <= max);
}

export class Faults {
  readonly messages: string[] = [];
  /** Faults in all, also those above the bound of the messages. */
  count = 0;

  add(message: string): void {
    this.count++;
    if (this.messages.length < FAULTS_MAX) this.messages.push(message);
  }

  get any(): boolean {
    return this.count > 0;
  }
}

/**
 * Reads the fields of one JSON object strictly: no coercion, and an unknown field is a fault. A reading method returns
 * undefined for a field that is absent and for one that is faulty; it records the fault.
 */
export class Fields {
  readonly #object: JsonObject;
  readonly faults: Faults;
  readonly #at: string;

  /**
   * @param at path of the object in the body: '' for the resource itself, else such as `records[3]`
   * @param fixed fields of the resource that cannot be changed
   */
  constructor(
    object: JsonObject,
    known: readonly string[],
    faults: Faults,
    at = '',
    fixed: readonly string[] = [],
  ) {
    this.#object = object;
    this.faults = faults;
    this.#at = at;
    for (const [index, name] of Object.keys(object).entries()) {
      if (known.includes(name)) continue;
      const what = fixed.includes(name) ? 'cannot be changed' : 'is not a known field';
      faults.add(`${this.label(shownName(name, 'field', index + 1))} ${what}`);
    }
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  is(name: string, value: string): boolean {
    return this.has(name) && this.#object[name] === value;
  }

  isNull(name: string): boolean {
    return this.has(name) && this.#object[name] === null;
  }

  fault(name: string, what: string): void {
    this.faults.add(`${this.label(name)} ${what}`);
  }

  label(name: string): string {
    return this.#at === '' ? name : `${this.#at}.${name}`;
  }

  text(name: string): string | undefined {
    return this.#read(name, 'must be a string', isText);
  }

  requiredText(name: string): string | undefined {
    return this.#require(name) ? this.text(name) : undefined;
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.#read(name, 'must be an integer', (it): it is number => Number.isInteger(it));
    if (value === undefined || (value >= min && value <= max)) return value;
    this.fault(name, `must be between ${min} and ${max}`);
    return undefined;
  }

  /** A time after `now`. Both are milliseconds since the epoch. */
  futureTime(name: string, now: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const time = parseTime(text);
    if (time === null) this.fault(name, NOT_A_TIME);
    else if (time <= now) this.fault(name, 'must be in the future');
    else if (time > LIMITS.expiresAtMax) this.fault(name, 'is later than the year 9999');
    else return time;
    return undefined;
  }

  boolean(name: string): boolean | undefined {
    return this.#read(name, 'must be true or false', (value) => typeof value === 'boolean');
  }

  list(name: string, max: number): readonly unknown[] | undefined {
    const items = this.#read(name, 'must be an array', (it): it is unknown[] => Array.isArray(it));
    if (items === undefined || items.length <= max) return items;
    this.fault(name, `must have at most ${max} items`);
    return undefined;
  }

  /** At most `max` items, without repetitions. @param only ends the message `must have only`, such as `strings` */
  listOf<T>(
    name: string,
    max: number,
    is: (item: unknown) => item is T,
    only: string,
  ): readonly T[] | undefined {
    const items = this.list(name, max);
    if (items === undefined) return undefined;
    if (items.every(is)) return [...new Set(items)];
    this.fault(name, `must have only ${only}`);
    return undefined;
  }

  object(name: string): JsonObject | undefined {
    return this.#read(name, 'must be an object', isJsonObject);
  }

  #require(name: string): boolean {
    if (this.has(name)) return true;
    this.fault(name, 'is required');
    return false;
  }

  #read<T>(name: string, otherwise: string, is: (value: unknown) => value is T): T | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#object[name];
    if (is(value)) return value;
    this.fault(name, otherwise);
    return undefined;
  }
}
