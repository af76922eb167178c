import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { type CommandFacts, type Place, placesOf } from './tree.ts';
import { zshCompletion } from './zsh.ts';

const SCRIPTS: Readonly<Record<string, (places: readonly Place[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** The script that a shell sources. @param shell bash, zsh or fish */
export function completionScript(shell: string, tree: CommandFacts): string {
  return SCRIPTS[shell]!(placesOf(tree));
}
