import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An error with everything taken away that may hold data: no message, no properties. */
export interface DescribedError {
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
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

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
