import type { Command } from 'commander';
import type { Clock } from '../base/clock.ts';
import type { Signals } from './signals.ts';

export interface ProgramOptions {
  readonly clock: Clock;
  /** Commands that run until a signal call this before they load anything. */
  readonly takeSignals: () => Signals;
}

export interface Builder extends ProgramOptions {
  readonly program: Command;
  /** Adds a command below `parent`: `'tier <email> <tier>'`. */
  readonly command: (parent: Command, usage: string, about: string) => Command;
  readonly json: () => boolean;
}

/** A command that only contains subcommands. */
export function group(program: Command, name: string, about: string): Command {
  return program.command(name).description(about).helpCommand(false).exitOverride();
}

export function examples(...lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}
