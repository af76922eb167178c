import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { activeShortcuts, areShortcutsOn } from './shortcuts.ts';

/** The shortcuts that are active on this page. */
export function HelpDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title={t('shortcuts.title')} onClose={onClose}>
      {areShortcutsOn.value ? null : <p>{t('shortcuts.off')}</p>}
      <dl class="keys">
        <div>
          <dt>
            <kbd>Ctrl</kbd>
            <kbd>K</kbd>
          </dt>
          <dd>{t('shortcuts.palette')}</dd>
        </div>
        {activeShortcuts().map(({ keys, text }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{keys.startsWith('g ') ? t('shortcuts.go', { page: t(text) }) : t(text)}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <Button hasFocus onClick={onClose}>
          {t('ui.close')}
        </Button>
      </div>
    </Dialog>
  );
}
