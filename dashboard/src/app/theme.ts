/** Light, dark, or as the system says. */
import { signal } from '@preact/signals';
import { readSetting, writeSetting } from './settings.ts';

export type Theme = 'auto' | 'light' | 'dark';
export const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

function stored(): Theme {
  const value = readSetting('theme');
  return value === 'light' || value === 'dark' ? value : 'auto';
}

export const theme = signal<Theme>(stored());

export function setTheme(next: Theme): void {
  theme.value = next;
  writeSetting('theme', next === 'auto' ? null : next);
  applyTheme();
}

/** `light-dark()` in the style sheet follows `color-scheme`. */
export function applyTheme(): void {
  document.documentElement.style.colorScheme = theme.value === 'auto' ? '' : theme.value;
}
