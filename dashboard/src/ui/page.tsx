import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { hasNavigated } from '../app/router.ts';
import { t } from '../text/text.ts';

export interface PageProps {
  /** The heading, and the title of the tab. */
  readonly title: string;
  /** Buttons beside the heading. */
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What every screen begins with: its one `h1`, which has the focus after navigation, also in the place of one that stood there while the screen loaded. */
export function Page({ title, actions, children }: PageProps) {
  // With the heading: a screen reader reads the title as soon as the page has changed.
  useLayoutEffect(() => {
    document.title = t('ui.page', { page: title });
  }, [title]);
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    if (hasNavigated() && document.activeElement === document.body) heading.current?.focus();
  }, []);
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions === undefined ? null : <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}
