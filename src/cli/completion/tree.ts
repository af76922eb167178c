/** What can stand at each place of a command line, in the form that the scripts of all three shells need. */

import type { Argument, Command, Option } from 'commander';
import { TIERS } from '../../base/limits.ts';

export interface Offer {
  readonly word: string;
  readonly about: string;
}

export interface Place {
  /** The words before, with `uqrp`: `uqrp user create`. */
  readonly path: string;
  readonly commands: readonly Offer[];
  readonly options: readonly Offer[];
  /** Words that an argument takes. */
  readonly words: readonly string[];
  /** An argument is a file or a folder. */
  readonly takesFile: boolean;
  readonly values: readonly OptionValue[];
}

/** What follows an option that takes a value. */
interface OptionValue {
  readonly option: string;
  readonly words: readonly string[];
  readonly takesFile: boolean;
}

const FILE = /^(?:dir|file|items|manifest|signed)$/;
/** Accepted everywhere. */
const COMMON: readonly Offer[] = [
  { word: '--json', about: 'print JSON for machines' },
  { word: '--help', about: 'show the help of a command' },
];

export function placesOf(tree: CommandFacts): readonly Place[] {
  return [placeOf(tree), ...tree.commands.flatMap(placesOf)];
}

function placeOf({ path, commands, options, arguments: args }: CommandFacts): Place {
  const own = options
    .map(({ names, about }) => ({ word: names.at(-1)!, about }))
    .filter(({ word }) => COMMON.every((common) => common.word !== word));
  return {
    path: ['uqrp', ...path].join(' '),
    commands: commands.map((each) => ({ word: each.path.at(-1)!, about: each.about })),
    options: [...own, ...COMMON],
    words: args.flatMap(({ choices }) => choices),
    takesFile: args.some(({ name }) => FILE.test(name)),
    values: options
      .filter(({ value }) => value !== null)
      .map(({ names, value, choices }) => ({
        option: names.at(-1)!,
        words: choices,
        takesFile: FILE.test(value!.replace(/[<>[\].]/g, '')),
      })),
  };
}

// The tree of commands as data: what the completions of shells and the manual page are made from.

export interface OptionFacts {
  /** `--tier`, and `-V` before it where there is one. */
  readonly names: readonly string[];
  /** `<tier>`; null: the option takes no value. */
  readonly value: string | null;
  /** As commander prints them: `--tier <tier>`. */
  readonly flags: string;
  readonly about: string;
  readonly choices: readonly string[];
}

interface ArgumentFacts {
  readonly name: string;
  readonly about: string;
  readonly isRequired: boolean;
  readonly choices: readonly string[];
}

export interface CommandFacts {
  /** `['user', 'create']`; empty for the program. */
  readonly path: readonly string[];
  readonly about: string;
  readonly options: readonly OptionFacts[];
  readonly arguments: readonly ArgumentFacts[];
  readonly commands: readonly CommandFacts[];
  /** What `--help` prints below the options: examples. */
  readonly notes: string;
}

/** Options of the program are accepted by each command, and stand only at the program. */
export function factsOf(command: Command, path: readonly string[] = []): CommandFacts {
  const inherited = path.length > 0 ? ['--json'] : [];
  return {
    path,
    about: command.description(),
    options: command.options
      .filter(({ hidden, long }) => !hidden && !inherited.includes(long ?? ''))
      .map(optionFacts),
    arguments: command.registeredArguments.map(argumentFacts),
    commands: command.commands.map((each) => factsOf(each, [...path, each.name()])),
    notes: notesOf(command),
  };
}

/** commander gives these texts only to listeners of its own event. */
function notesOf(command: Command): string {
  let text = '';
  const write = (part: string): void => {
    text += part;
  };
  (command as unknown as NodeJS.EventEmitter).emit('afterHelp', { error: false, command, write });
  return text.trim();
}

/** All commands of a tree that do something, in its order. */
export function actionsOf(tree: CommandFacts): readonly CommandFacts[] {
  return tree.commands.flatMap((each) => (each.commands.length > 0 ? actionsOf(each) : [each]));
}

function optionFacts({ short, long, flags, description, argChoices }: Option): OptionFacts {
  return {
    names: [short, long].filter((name) => name !== undefined),
    value: /<.+>|\[.+\]/.exec(flags)?.[0] ?? null,
    flags,
    about: description,
    choices: argChoices ?? wordsOf(/<(.+)>/.exec(flags)?.[1] ?? ''),
  };
}

function argumentFacts(argument: Argument): ArgumentFacts {
  const name = argument.name();
  return {
    name,
    about: argument.description,
    isRequired: argument.required,
    choices: argument.argChoices ?? wordsOf(name),
  };
}

/** A value that is named `on|off` takes one of these words. */
function wordsOf(name: string): readonly string[] {
  if (name === 'tier') return Object.keys(TIERS);
  return name.includes('|') ? name.split('|') : [];
}
