// biome-ignore-all lint/performance/noBarrelFile: each line is one icon of a package that has 1,700.
/** Icons of Lucide, of which only the used ones are shipped: `<Icon of={WebhookIcon} />`. */
import { h } from 'preact';

export { default as DatasetIcon } from 'lucide/dist/esm/icons/book-check.mjs';
export { default as DocsIcon } from 'lucide/dist/esm/icons/book-open.mjs';
export { default as ApiIcon } from 'lucide/dist/esm/icons/braces.mjs';
export { default as OrganizationIcon } from 'lucide/dist/esm/icons/building.mjs';
export { default as UsageIcon } from 'lucide/dist/esm/icons/chart-no-axes-column.mjs';
export { default as FailureIcon } from 'lucide/dist/esm/icons/circle-alert.mjs';
export { default as HelpIcon } from 'lucide/dist/esm/icons/circle-question-mark.mjs';
export { default as AccountIcon } from 'lucide/dist/esm/icons/circle-user-round.mjs';
export { default as CopyIcon } from 'lucide/dist/esm/icons/copy.mjs';
export { default as RecordIcon } from 'lucide/dist/esm/icons/database.mjs';
export { default as DiceIcon } from 'lucide/dist/esm/icons/dices.mjs';
export { default as DownloadIcon } from 'lucide/dist/esm/icons/download.mjs';
export { default as MoreIcon } from 'lucide/dist/esm/icons/ellipsis.mjs';
export { default as PlaygroundIcon } from 'lucide/dist/esm/icons/flask-conical.mjs';
export { default as NamespaceIcon } from 'lucide/dist/esm/icons/folder-tree.mjs';
export { default as InfoIcon } from 'lucide/dist/esm/icons/info.mjs';
export { default as ApiKeyIcon } from 'lucide/dist/esm/icons/key-round.mjs';
export { default as OverviewIcon } from 'lucide/dist/esm/icons/layout-dashboard.mjs';
export { default as ServicesIcon } from 'lucide/dist/esm/icons/layout-grid.mjs';
export { default as SignOutIcon } from 'lucide/dist/esm/icons/log-out.mjs';
export { default as QueryLogIcon } from 'lucide/dist/esm/icons/logs.mjs';
export { default as MoonIcon } from 'lucide/dist/esm/icons/moon.mjs';
export { default as EditIcon } from 'lucide/dist/esm/icons/pencil.mjs';
export { default as PlusIcon } from 'lucide/dist/esm/icons/plus.mjs';
export { default as RefreshIcon } from 'lucide/dist/esm/icons/refresh-cw.mjs';
export { default as HistoryIcon } from 'lucide/dist/esm/icons/rotate-ccw-clock.mjs';
export { default as AuditIcon } from 'lucide/dist/esm/icons/scroll-text.mjs';
export { default as SearchIcon } from 'lucide/dist/esm/icons/search.mjs';
export { default as ShieldIcon } from 'lucide/dist/esm/icons/shield-check.mjs';
export { default as ShieldBrokenIcon } from 'lucide/dist/esm/icons/shield-x.mjs';
export { default as SunIcon } from 'lucide/dist/esm/icons/sun.mjs';
export { default as SunMoonIcon } from 'lucide/dist/esm/icons/sun-moon.mjs';
export { default as DeleteIcon } from 'lucide/dist/esm/icons/trash.mjs';
export { default as UndoIcon } from 'lucide/dist/esm/icons/undo-2.mjs';
export { default as UploadIcon } from 'lucide/dist/esm/icons/upload.mjs';
export { default as WebhookIcon } from 'lucide/dist/esm/icons/webhook.mjs';
export { default as CloseIcon } from 'lucide/dist/esm/icons/x.mjs';

export type IconShape = readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];

export interface IconProps {
  readonly of: IconShape;
}

/** As large as the text around it, in its colour. It has no name: the text or the label beside it says what it means. */
export function Icon({ of }: IconProps) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      {of.map(([tag, attributes], at) => h(tag, { ...attributes, key: at }))}
    </svg>
  );
}
