import type { Command } from 'commander';
import type { Clock } from '../core/clock.ts';
import type { Signals } from './signals.ts';

export interface ProgramOptions {
  readonly clock: Clock;
  /** Called by commands that run until a signal ends them, before they load anything. */
  readonly takeSignals: () => Signals;
}

export interface Builder extends ProgramOptions {
  readonly program: Command;
  /** A command below `parent`, by its name and arguments (`'tier <email> <tier>'`). */
  readonly command: (parent: Command, usage: string, about: string) => Command;
  /** Whether `--json` was given. */
  readonly json: () => boolean;
}

/** A command that only holds others. */
export function group(program: Command, name: string, about: string): Command {
  return program.command(name).description(about).helpCommand(false).exitOverride();
}

/** The text of examples below a command's help. */
export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
