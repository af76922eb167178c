import { ConfigError } from '../config/config.ts';
import { AppError } from '../core/errors.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** A wrong command line. Ends the command with code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** A failure of the input or the data: a bad line of a file, an error as the answer. Ends the command with code 1. */
export class InputError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InputError';
  }
}

/** Ends the process with code 0 when the reader of its output has ended (`| head`). The server replaces this listener. */
export function stopOnClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT.ok);
      throw error;
    });
  }
}

/** The process runs on when the reader of its output ends. For the server. */
export function goOnWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error');
    stream.on('error', () => {});
  }
}

/** Control characters, and marks that change the direction of text (Unicode UAX #9). */
const UNSAFE = /\p{Cc}|\p{Bidi_Control}/gu;

/**
 * Text of strangers, safe to print on a terminal: what could move the cursor, set the window's title or reorder letters
 * is spelt `\u{1b}`. Line feeds and tabs stay.
 */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character === '\n' || character === '\t' ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Columns padded to their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length);
  }
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Prints what went wrong on stderr. @returns the exit code */
export function report(error: unknown): number {
  if (error instanceof ConfigError) {
    for (const fault of error.faults) process.stderr.write(`${fault}\n`);
    return EXIT.usage;
  }
  if (error instanceof UsageError) {
    process.stderr.write(`${error.message}\n`);
    return EXIT.usage;
  }
  if (error instanceof AppError) {
    for (const message of error.messages) process.stderr.write(`${message}\n`);
    return EXIT.failed;
  }
  process.stderr.write(`${error instanceof Error ? error.message : 'failed'}\n`);
  return EXIT.failed;
}
