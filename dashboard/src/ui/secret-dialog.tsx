import type { ComponentChildren } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import { askBeforeLeaving } from '../app/router.ts';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { Dialog } from './dialog.tsx';

export interface SecretDialogProps {
  /** Its accessible name, such as `API key`. */
  readonly title: string;
  readonly secret: string;
  /** Where it is used, a command with it, a warning. */
  readonly children?: ComponentChildren;
  /** The user says that the secret is stored. Forget it now. */
  readonly onStored: () => void;
}

/** Shows a secret for the only time. Only its button `I have stored it` closes it. Keep the secret in memory alone. */
export function SecretDialog({ title, secret, children, onStored }: SecretDialogProps) {
  // Back and reload would lose it.
  useLayoutEffect(() => askBeforeLeaving(() => confirm(t('ui.secretUnstored'))), []);
  return (
    <Dialog title={title} canClose={false} onClose={() => undefined}>
      <p>{t('ui.storedNote')}</p>
      <div class="secret">
        <output class="code">{secret}</output>
        <CopyButton text={secret} />
      </div>
      {children}
      <div class="actions">
        <Button tone="primary" onClick={onStored}>
          {t('ui.stored')}
        </Button>
      </div>
    </Dialog>
  );
}
