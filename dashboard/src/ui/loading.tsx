import { t } from '../text/text.ts';

export interface LoadingProps {
  /** What is loading. Default `Loading…`. */
  readonly label?: string;
}

/** Shown while the first value of a resource is read. It appears after a fifth of a second. */
export function Loading({ label = t('ui.loading') }: LoadingProps) {
  return (
    <div class="loading" role="status">
      {label}
    </div>
  );
}
