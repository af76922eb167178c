import type { Place } from './tree.ts';

/** Fish: one line for each command and option, under the condition that its place has come. */
export function fishCompletion(places: readonly Place[]): string {
  const [, ...below] = places;
  return `# uqrp(1) completion for fish: uqrp completion fish | source
function __uqrp_at
  set -l at uqrp
  for word in (commandline -opc)[2..-1]
    if contains -- "$at $word" ${below.map(({ path }) => quoted(path)).join(' ')}
      set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c uqrp -f
${places.flatMap(linesOf).join('\n')}`;
}

function linesOf({ path, commands, options, words, takesFile, values }: Place): string[] {
  const here = `complete -c uqrp -n ${quoted(`__uqrp_at ${quoted(path)}`)}`;
  const follows = (option: string): string => {
    const value = values.find((each) => each.option === option);
    if (value === undefined) return '';
    return value.takesFile ? ' -r -F' : ` -x -a ${quoted(value.words.join(' '))}`;
  };
  return [
    ...commands.map(({ word, about }) => `${here} -a ${quoted(word)} -d ${quoted(about)}`),
    ...(words.length > 0 ? [`${here} -a ${quoted(words.join(' '))}`] : []),
    ...(takesFile ? [`${here} -F`] : []),
    ...options.map(
      ({ word, about }) => `${here} -l ${word.replace(/^--/, '')}${follows(word)} -d ${quoted(about)}`,
    ),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
