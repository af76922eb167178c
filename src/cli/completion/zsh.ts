import type { Offer, Place } from './tree.ts';

/** Zsh: as in bash, with a line about each word. */
export function zshCompletion(places: readonly Place[]): string {
  const [, ...below] = places;
  return `#compdef uqrp
# uqrp(1) completion for zsh: source <(uqrp completion zsh), after compinit
_uqrp() {
  local at=uqrp word
  local -a offers
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${below.map(({ path }) => quoted(path)).join('|')}) at="$at $word" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${places.flatMap(values).join('\n')}
  esac
  case "$at:\${words[CURRENT]}" in
${places.map(options).join('\n')}
${places.map(rest).join('\n')}
  esac
}
(( ! \${+functions[compdef]} )) || compdef _uqrp uqrp`;
}

function values({ path, values }: Place): string[] {
  return values.map(
    ({ option, words, takesFile }) =>
      `    (${quoted(`${path} ${option}`)}) ${takesFile ? '_files' : offer(words.map((word) => ({ word, about: '' })))}; return ;;`,
  );
}

function options({ path, options }: Place): string {
  return `    (${quoted(path)}:-*) ${offer(options)} ;;`;
}

function rest({ path, commands, words, takesFile }: Place): string {
  const offers = [...commands, ...words.map((word) => ({ word, about: '' }))];
  return `    (${quoted(path)}:*) ${takesFile ? '_files; ' : ''}${offer(offers)} ;;`;
}

/** _describe takes \`word:about\`, with a backslash before a colon of the word. */
function offer(offers: readonly Offer[]): string {
  const lines = offers.map(({ word, about }) =>
    quoted(word.replaceAll(':', String.raw`\:`) + (about === '' ? '' : `:${about}`)),
  );
  return `offers=(${lines.join(' ')}); _describe uqrp offers`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
