#!/usr/bin/env node
import { CommanderError } from 'commander';
import { commandLine, hideSqliteWarning } from './cli/command-line.ts';
import { EXIT, goOnAtClosedPipe, report } from './cli/output.ts';
import { buildProgram } from './cli/program.ts';
import { takeSignals } from './cli/signals.ts';

// Files of this process are for its user only, whatever the umask of the shell is.
const umask = process.umask(0o077);
goOnAtClosedPipe();
hideSqliteWarning();
const program = buildProgram({ clock: Date.now, takeSignals, umask });
try {
  await program.parseAsync(commandLine(program, process.argv.slice(2)), { from: 'user' });
} catch (error) {
  // Commander has printed its own message; --help and --version end with 0.
  process.exitCode =
    error instanceof CommanderError ? (error.exitCode === 0 ? EXIT.ok : EXIT.usage) : report(error);
}
