import type { Command } from 'commander';

const HELP = new Set(['-h', '--help']);

/**
 * Corrects two cases for commander: `help user create` means `user create --help`, and an unknown command with `--help` is an error.
 */
export function commandLine(program: Command, args: readonly string[]): readonly string[] {
  const line = args[0] === 'help' ? [...args.slice(1), '--help'] : args;
  return namesKnownCommands(program, line) ? line : line.filter((argument) => !HELP.has(argument));
}

function namesKnownCommands(program: Command, line: readonly string[]): boolean {
  let command = program;
  for (const word of line) {
    if (command.commands.length === 0) return true;
    if (word.startsWith('-')) continue;
    const next = command.commands.find((one) => one.name() === word);
    if (next === undefined) return false;
    command = next;
  }
  return true;
}
