import type { Command } from 'commander';

const HELP = new Set(['-h', '--help']);

/**
 * The arguments as commander reads them right: `help user create` becomes `user create --help`, and an unknown command
 * followed by `--help` is an error instead of the help of its parent.
 */
export function commandLine(program: Command, args: readonly string[]): readonly string[] {
  const line = args[0] === 'help' ? [...args.slice(1), '--help'] : args;
  return namesKnownCommands(program, line) ? line : line.filter((argument) => !HELP.has(argument));
}

/** Whether the words before the first argument of a command without subcommands are all names of commands. */
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
