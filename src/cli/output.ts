import { ConfigError } from '../config/config.ts';
import { AppError } from '../core/errors.ts';

export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;

/** What the person did wrong, in words; ends the command with code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
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

/** Says what went wrong on stderr, and gives the exit code. */
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
