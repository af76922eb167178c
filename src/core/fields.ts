import { LIMITS } from './limits.ts';
import { parseTime } from './time.ts';

/** An upper bound on the messages of one response: a body of nothing but faults must not come back many times its size. */
const FAULTS_MAX = 1000;

/** Names that may be repeated in a message as they came. */
const PRINTABLE_NAME = /^[\w.-]{1,64}$/;

const CONTROL = /[\p{Cc}\u2028\u2029]/u;

/** A JSON object as it came from outside. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether text fits a one-line name: not blank, well-formed Unicode, no control characters. */
export function isOneLine(text: string): boolean {
  return text.trim() !== '' && text.isWellFormed() && !CONTROL.test(text);
}

/** Messages about a request body, collected so that the caller learns of all of them at once. */
export class Faults {
  readonly messages: string[] = [];

  add(message: string): void {
    if (this.messages.length < FAULTS_MAX) this.messages.push(message);
  }

  get any(): boolean {
    return this.messages.length > 0;
  }
}

/**
 * Reads the fields of one JSON object, strictly: nothing is coerced, a field that is not known is a fault, and every
 * message begins with the field's name (decisions, section 2). A reading method returns undefined both for a field that is
 * absent and for one that was faulty; the fault has then been recorded.
 */
export class Fields {
  readonly #object: JsonObject;
  readonly #faults: Faults;
  readonly #at: string;

  /**
   * @param at where the object stands in the body: '' for the resource itself, else a path such as `records[3]`
   */
  constructor(object: JsonObject, known: readonly string[], faults: Faults, at = '') {
    this.#object = object;
    this.#faults = faults;
    this.#at = at;
    for (const name of Object.keys(object)) {
      if (known.includes(name)) continue;
      const path = at === '' ? name : `${at}.${name}`;
      faults.add(
        PRINTABLE_NAME.test(name) ? `${path} is not a known field` : 'Body has a field that is not known',
      );
    }
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#object, name);
  }

  /** Whether the field is there and is JSON null. */
  isNull(name: string): boolean {
    return this.has(name) && this.#object[name] === null;
  }

  /** Records `<Field> <what>`. */
  fault(name: string, what: string): void {
    this.#faults.add(`${this.label(name)} ${what}`);
  }

  /** How messages call a field: `Data`, or `records[3].data`. */
  label(name: string): string {
    return this.#at === '' ? name.charAt(0).toUpperCase() + name.slice(1) : `${this.#at}.${name}`;
  }

  text(name: string): string | undefined {
    return this.#read(name, 'must be a string', (value) => typeof value === 'string');
  }

  requiredText(name: string): string | undefined {
    return this.#require(name) ? this.text(name) : undefined;
  }

  /** A name for people: one line, 1 to `max` characters. */
  requiredName(name: string, max: number): string | undefined {
    const value = this.requiredText(name);
    if (value === undefined) return undefined;
    if (!isOneLine(value)) this.fault(name, 'must be one line of text and not blank');
    else if (value.length > max) this.fault(name, `must have at most ${max} characters`);
    else return value;
    return undefined;
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.#read(name, 'must be an integer', (it): it is number => Number.isInteger(it));
    if (value === undefined || (value >= min && value <= max)) return value;
    this.fault(name, `must be between ${min} and ${max}`);
    return undefined;
  }

  /** An RFC 3339 time after `now`, both in milliseconds since the epoch. */
  futureTime(name: string, now: number): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const time = parseTime(text);
    if (time === null) this.fault(name, 'is not an ISO 8601 date and time with a zone');
    else if (time <= now) this.fault(name, 'must be in the future');
    else if (time > LIMITS.expiresAtMax) this.fault(name, 'is later than the year 9999');
    else return time;
    return undefined;
  }

  list(name: string, max: number): readonly unknown[] | undefined {
    const value = this.#read(name, 'must be an array', (it): it is unknown[] => Array.isArray(it));
    if (value === undefined || value.length <= max) return value;
    this.fault(name, `must have at most ${max} items`);
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
