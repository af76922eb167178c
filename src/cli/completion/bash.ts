import type { Place } from './tree.ts';

/** Bash: one function that finds the command among the words before, then offers what can follow. */
export function bashCompletion(places: readonly Place[]): string {
  const [, ...below] = places;
  return `# uqrp(1) completion for bash: source <(uqrp completion bash)
# Adds the files that begin with what was typed, one a line: names have spaces. Quotes of the word are not part of a name.
_uqrp_files() {
  local file typed=\${1#[\\'\\"]}
  while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "\${typed//\\\\/}")
  compopt -o filenames 2>/dev/null
}
_uqrp() {
  local at=uqrp word words= files= i
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$at $word" in
      ${below.map(({ path }) => quoted(path)).join(' | ')}) at="$at $word" ;;
    esac
  done
  COMPREPLY=()
  case "$at $prev" in
${places.flatMap(values).join('\n')}
  esac
  case "$at:$cur" in
${places.map(options).join('\n')}
${places.map(rest).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ -z "$files" ] || _uqrp_files "$cur"
}
complete -F _uqrp uqrp`;
}

function values({ path, values }: Place): string[] {
  return values.map(
    ({ option, words, takesFile }) =>
      `    ${quoted(`${path} ${option}`)}) ${takesFile ? '_uqrp_files "$cur"' : `COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$cur"))`}; return ;;`,
  );
}

function options({ path, options }: Place): string {
  return `    ${quoted(path)}:-*) words=${quoted(options.map(({ word }) => word).join(' '))} ;;`;
}

function rest({ path, commands, words, takesFile }: Place): string {
  const offered = [...commands.map(({ word }) => word), ...words].join(' ');
  return `    ${quoted(path)}:*) words=${quoted(offered)}${takesFile ? ' files=1' : ''} ;;`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
