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

/**
 * Hides one warning of Node: that node:sqlite is experimental, which 22 and early versions of 24 print at every command.
 * Both are tested versions. Every other warning goes to the listeners that Node had.
 */
export function hideSqliteWarning(warnings: NodeJS.EventEmitter = process): void {
  const listeners = warnings.listeners('warning');
  warnings.removeAllListeners('warning');
  warnings.on('warning', (warning: Error) => {
    if (warning.name === 'ExperimentalWarning' && warning.message.startsWith('SQLite ')) return;
    for (const listener of listeners) listener.call(warnings, warning);
  });
}
