import { CopyButton } from './copy-button.tsx';
import { tokensOf } from './highlight.ts';

export interface CodeBlockProps {
  readonly code: string;
  /** Accessible name, such as `dig`. */
  readonly label: string;
  /** Default `shell`. */
  readonly language?: 'json' | 'shell' | 'text';
  /** False hides the button. Default true. */
  readonly canCopy?: boolean;
}

/** Code with a button that copies it. */
export function CodeBlock({ code, label, language = 'shell', canCopy = true }: CodeBlockProps) {
  return (
    <figure class="code-block" aria-label={label}>
      <pre tabIndex={0}>
        <code>
          {tokensOf(code, language).map(({ kind, text }, at) =>
            kind === null ? (
              text
            ) : (
              <span key={at} class={`t-${kind}`}>
                {text}
              </span>
            ),
          )}
        </code>
      </pre>
      {canCopy ? <CopyButton text={code} /> : null}
    </figure>
  );
}
