/** What can stand at each place of a command line, in the form that the scripts of all three shells need. */
import type { CommandFacts } from './tree.ts';

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
