import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type DestinationStream, destination, pino } from 'pino';
import type { Clock } from '../../base/time.ts';
import { EVENTS, type EventName, type FieldKind, type FieldsOf } from './events.ts';

/** An error with everything taken away that may hold data: no message, no properties. */
interface DescribedError {
  readonly class: string;
  /** `ECONNREFUSED`, `ERR_SQLITE_ERROR`, a PostgreSQL SQLSTATE. */
  readonly code?: string;
  /** SQLite's extended result code. */
  readonly errcode?: number;
  /** `src/file.ts:line`, innermost first, files of this project only. */
  readonly at: readonly string[];
  readonly cause?: DescribedError;
}

/** Class names can be made at run time, so only these are logged; any other error is an `Error`. */
const CLASSES: ReadonlySet<string> = new Set([
  'AbortError',
  'AggregateError',
  'AppError',
  'AssertionError',
  'ConfigError',
  'DatabaseError',
  'DOMException',
  'Error',
  'EvalError',
  'ListenError',
  'RangeError',
  'ReferenceError',
  'StartError',
  'SyntaxError',
  'SystemError',
  'TypeError',
  'URIError',
]);
const CODE = /^[A-Z0-9_]{1,40}$/;
/** Files of this project in a stack. A path is logged only if the file exists, because a stack is forgeable text. */
const FRAME =
  /^ {4}at .*?((?:src|dist|bench|scripts|test)\/[A-Za-z0-9_./-]{1,120}\.[jt]s):([0-9]{1,6}):[0-9]{1,6}\)?$/;
const FRAMES = 8;
const CAUSES = 3;
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Describes any thrown value. Never throws. */
export function describeError(error: unknown): DescribedError {
  return describe(error, CAUSES);
}

function describe(error: unknown, causes: number): DescribedError {
  const code = property(error, 'code');
  const errcode = property(error, 'errcode');
  const cause = property(error, 'cause');
  return {
    class: className(error),
    ...(typeof code === 'string' && CODE.test(code) ? { code } : {}),
    ...(Number.isSafeInteger(errcode) ? { errcode: errcode as number } : {}),
    at: frames(property(error, 'stack')),
    ...(cause !== undefined && cause !== null && causes > 0 ? { cause: describe(cause, causes - 1) } : {}),
  };
}

/** The nearest class up the prototype chain that has a known name. */
function className(error: unknown): string {
  try {
    for (let at: unknown = error; at !== null && at !== undefined; at = Object.getPrototypeOf(at)) {
      const name = property(property(at, 'constructor'), 'name');
      if (typeof name === 'string' && CLASSES.has(name)) return name;
    }
  } catch {
    // A proxy may refuse to be looked at.
  }
  return 'Error';
}

function frames(stack: unknown): string[] {
  if (typeof stack !== 'string') return [];
  const found: string[] = [];
  // A stack of ours has at most a hundred lines; a longer text is a message.
  for (const line of stack.slice(0, 20_000).split('\n')) {
    const [, path, number] = FRAME.exec(line) ?? [];
    if (path !== undefined && isOurFile(path)) found.push(`${path}:${number}`);
    if (found.length === FRAMES) break;
  }
  return found;
}

function isOurFile(path: string): boolean {
  if (path.includes('..')) return false;
  return statSync(ROOT + path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function property(of: unknown, name: string): unknown {
  try {
    return (of as Record<string, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

const LEVEL_WIDTH = 5;

/**
 * A log line for people: time of day in UTC, level, message, then event and fields as `name=value`.
 * @param line one JSON object as the log writes it
 */
function prettyLine(line: string): string {
  const { level, time, event, error, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const facts = Object.entries({ event, ...fields }).map(([name, value]) => `${name}=${shown(value)}`);
  const what = error === undefined ? '' : ` error=${JSON.stringify(error)}`;
  return `${clock} ${String(level).toUpperCase().padEnd(LEVEL_WIDTH)} ${String(msg)} (${facts.join(' ')})${what}\n`;
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : String(value);
}

export interface Log {
  /** Writes one event with its fields and a described error. Drops fields that the table does not have, despite casts. */
  event<E extends EventName>(name: E, fields: FieldsOf<E>, error?: unknown): void;
}

export interface LogOptions {
  readonly clock: Clock;
  /** `json` when not given. */
  readonly format?: 'json' | 'pretty';
  /** Where the lines go; stderr, written at once, so that the last line before a crash is there. */
  readonly stream?: DestinationStream;
}

/** JSON lines: `level`, `time` (ISO 8601), `event`, the event's fields, `error`, `msg`. */
export function createLog(options: LogOptions): Log {
  const sink = options.stream ?? destination({ fd: 2, sync: true });
  const logger = pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date(options.clock()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    options.format === 'pretty' ? readable(sink) : sink,
  );
  return {
    event(name, fields, error) {
      if (!Object.hasOwn(EVENTS, name)) return;
      const row = EVENTS[name];
      const line = {
        event: name,
        ...allowedFields(row.fields, fields),
        ...(error === undefined ? {} : { error: describeError(error) }),
      };
      logger[row.level](line, row.message);
    },
  };
}

/** Turns each JSON line into one for people on its way to `sink`. */
function readable(sink: DestinationStream): DestinationStream {
  return { write: (line) => sink.write(prettyLine(line)) };
}

/** The fields of the table. A value of another kind becomes null. */
function allowedFields(
  kinds: Readonly<Record<string, FieldKind>>,
  fields: object,
): Record<string, number | boolean | string | null> {
  const line: Record<string, number | boolean | string | null> = {};
  for (const [field, kind] of Object.entries(kinds)) {
    const value: unknown = (fields as Record<string, unknown>)[field];
    line[field] = isOfKind(value, kind) ? value : null;
  }
  return line;
}

/** Names of variables contain no data of customers. */
const VARIABLE = /^UQRP_[A-Z0-9_]{1,40}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const VERSION = /^[0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5}(?:-[a-z0-9.]{1,20})?(?:\+[a-z0-9.]{1,20})?$/;

/** As in credentials: one label of at most 32 octets. A query token has 56, of the same letters. */
const NODE = /^[a-z0-9-]{1,32}$/;

function isOfKind(value: unknown, kind: FieldKind): value is number | boolean | string {
  if (kind === 'number') return typeof value === 'number' && Number.isFinite(value);
  if (kind === 'boolean') return typeof value === 'boolean';
  if (typeof value !== 'string') return false;
  if (kind === 'variable') return VARIABLE.test(value);
  if (kind === 'request') return UUID.test(value);
  if (kind === 'node') return NODE.test(value);
  if (kind === 'version') return VERSION.test(value);
  return kind.includes(value);
}
