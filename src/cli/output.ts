import { AppError, UsageError } from '../base/errors.ts';
import { ConfigError } from '../ops/config/config.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2, drift: 3 } as const;

/**
 * A command goes on to its end when the reader of its output ends (`| head`): what it still has to write, and its exit code, are not the
 * reader's. Another fault, such as a full disk, ends the process with 1.
 */
export function goOnAtClosedPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
  }
}

/** For commands that do nothing but print: ends the process with code 0 when the reader of its output has ended. */
export function stopOnClosedPipe(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(EXIT.ok);
  });
}

/** For the server, and for `run`: the process continues whatever becomes of its output. */
export function goOnWithoutReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error');
    stream.on('error', () => {});
  }
}

/** Control characters, and marks that change the direction of text (Unicode UAX #9). */
const UNSAFE = /\p{Cc}|\p{Bidi_Control}/gu;

/** Escapes untrusted text for a terminal as `\u{1b}`: characters that move the cursor, set the title or reorder letters. */
export function escapeControls(text: string): string {
  return text.replace(UNSAFE, (character) =>
    character === '\n' || character === '\t' ? character : `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}

/** A word of a command line to paste: in quotes where a shell would read anything else. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

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

/** Prints an error on stderr. Returns the exit code. */
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
