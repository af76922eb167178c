import { areShortcutsOn, switchShortcuts } from '../../app/shortcuts.ts';
import { setTheme, THEMES, theme } from '../../app/theme.ts';
import { t } from '../../text/text.ts';
import { Select, Switch } from '../../ui/field.tsx';

const NAMES = { auto: 'account.themeAuto', light: 'account.themeLight', dark: 'account.themeDark' } as const;

/** What this browser remembers. */
export function SettingsCard() {
  return (
    <section class="card stack" aria-labelledby="settings">
      <h2 id="settings">{t('account.settings')}</h2>
      <Select
        label={t('account.theme')}
        value={theme.value}
        options={THEMES.map((value) => ({ value, text: t(NAMES[value]) }))}
        onChange={setTheme}
      />
      <Switch
        label={t('account.shortcuts')}
        help={t('account.shortcutsHelp')}
        isChecked={areShortcutsOn.value}
        onChange={switchShortcuts}
      />
    </section>
  );
}
