import { hasTokenLabel } from '../format/masked-name.ts';
import { snippetsOf } from '../screens/playground/snippets.ts';
import { CodeBlock } from '../ui/code-block.tsx';

export interface CommandsProps {
  readonly name: string;
  /** Of plain DNS; null where this server has none. */
  readonly dns: { readonly host: string; readonly port: number } | null;
}

/** A question for a terminal. Not for a name with a token: it would be copied into histories and logs. */
export function Commands({ name, dns }: CommandsProps) {
  const all =
    name === '' || hasTokenLabel(name)
      ? []
      : snippetsOf(
          { name, type: 'TXT', dnssecOk: false, checkingDisabled: false },
          { dns, origin: location.origin },
        );
  const shown = all.filter(({ name: tool }) => (tool === 'dig' && dns !== null) || tool === 'curl');
  return (
    <div class="prompt-commands">
      {shown.map(({ name: tool, code }) => (
        <CodeBlock key={tool} code={code} label={tool} />
      ))}
    </div>
  );
}
