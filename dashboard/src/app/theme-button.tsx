import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { Icon, MoonIcon, SunIcon, SunMoonIcon } from '../ui/icon.tsx';
import { setTheme, THEMES, theme } from './theme.ts';

const NAMES = { auto: 'shell.themeAuto', light: 'shell.themeLight', dark: 'shell.themeDark' } as const;
const ICONS = { auto: SunMoonIcon, light: SunIcon, dark: MoonIcon } as const;

/** Goes on to the next theme. */
export function ThemeButton() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'auto';
  const label = t('shell.theme', { theme: t(NAMES[theme.value]) });
  return (
    <Button tone="quiet" label={label} title={label} onClick={() => setTheme(next)}>
      <Icon of={ICONS[theme.value]} />
    </Button>
  );
}
