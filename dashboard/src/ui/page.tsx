import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { t } from '../text/text.ts';

export interface PageProps {
  /** The heading, and the title of the tab. */
  readonly title: string;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What every screen begins with: its one `h1`, which has the focus after navigation. */
export function Page({ title, actions, children }: PageProps) {
  useEffect(() => {
    document.title = t('ui.page', { page: title });
  }, [title]);
  return (
    <>
      <header class="page-head">
        <h1 tabIndex={-1}>{title}</h1>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}
