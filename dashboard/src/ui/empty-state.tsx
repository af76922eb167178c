import type { ComponentChildren } from 'preact';
import { t } from '../text/text.ts';
import { CodeBlock } from './code-block.tsx';

export interface EmptyStateProps {
  /** Such as `No records in acme`. */
  readonly title: string;
  /** What this is, in one sentence. */
  readonly text: string;
  /** The button that makes the first one. */
  readonly children?: ComponentChildren;
  /** The same as a command of three lines at most. */
  readonly command?: string;
}

/** What a list shows when nothing is in it. */
export function EmptyState({ title, text, children, command }: EmptyStateProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{text}</p>
      {children === undefined ? null : <div class="actions">{children}</div>}
      {command === undefined ? null : <CodeBlock code={command} label="curl" />}
      {command?.includes('$UQRP_TOKEN') && !command.includes('UQRP_TOKEN=') ? (
        <p class="dim">
          {t('ui.tokenIs')} <a href="/api-keys">{t('nav.apiKeys')}</a>
        </p>
      ) : null}
    </div>
  );
}
