/**
 * What the pages of the documents do: theme, search, buttons that copy, the index on a phone. A page is complete without it. Loaded before the
 * page is drawn, because of the theme.
 */
import { readSetting, writeSetting } from '../app/settings.ts';
import { listenForSearch } from './search-box.ts';

type Theme = 'auto' | 'light' | 'dark';

const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];
const NAMES = { auto: 'as the system', light: 'light', dark: 'dark' } as const;
/** Milliseconds that a button says that it has copied. */
const SAID_MS = 2000;

function storedTheme(): Theme {
  const value = readSetting('theme');
  return value === 'light' || value === 'dark' ? value : 'auto';
}

function applyTheme(theme: Theme): void {
  document.documentElement.style.colorScheme = theme === 'auto' ? '' : theme;
}

function themeButton(button: HTMLButtonElement): void {
  let theme = storedTheme();
  const show = (): void => {
    const label = `Theme: ${NAMES[theme]}`;
    button.dataset.theme = theme;
    button.ariaLabel = label;
    button.title = label;
    // A theme that was chosen holds for pictures too.
    for (const dark of document.querySelectorAll<HTMLSourceElement>('article source'))
      dark.media = theme === 'auto' ? '(prefers-color-scheme: dark)' : theme === 'dark' ? 'all' : 'not all';
  };
  show();
  button.hidden = false;
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    applyTheme(theme);
    show();
    writeSetting('theme', theme === 'auto' ? null : theme);
  });
}

function copyButton(snippet: Element): void {
  const pre = snippet.querySelector('pre');
  if (pre === null || navigator.clipboard === undefined) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'button copy';
  button.textContent = 'Copy';
  button.addEventListener('click', () => void copy(button, commandsOf(pre.textContent)));
  snippet.append(button);
}

/** Of a session, with its prompts and answers, only what is typed. */
function commandsOf(text: string): string {
  const typed = text.split('\n').filter((line) => line.startsWith('$ '));
  return typed.length === 0 ? text : typed.map((line) => line.slice(2)).join('\n');
}

async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Not allowed';
  }
  setTimeout(() => {
    button.textContent = 'Copy';
  }, SAID_MS);
}

function indexButton(button: HTMLButtonElement, index: HTMLElement): void {
  button.hidden = false;
  button.addEventListener('click', () => {
    const isShown = index.classList.toggle('shown');
    button.ariaExpanded = String(isShown);
  });
  // On a wide screen the index is beside the text and scrolls by itself.
  const current = index.querySelector<HTMLElement>('[aria-current]');
  if (current !== null && current.offsetTop + current.offsetHeight > index.clientHeight)
    index.scrollTop = current.offsetTop - index.clientHeight / 2;
}

function start(): void {
  const one = <T extends Element>(selector: string): T | null => document.querySelector<T>(selector);
  const theme = one<HTMLButtonElement>('.theme');
  if (theme !== null) themeButton(theme);
  for (const snippet of document.querySelectorAll('.snippet')) copyButton(snippet);
  const button = one<HTMLButtonElement>('.index-button');
  const index = one<HTMLElement>('#index');
  if (button !== null && index !== null) indexButton(button, index);
  const search = one<HTMLElement>('.document-search');
  if (search !== null) listenForSearch(search, document.body.dataset.search ?? '');
}

applyTheme(storedTheme());
document.documentElement.classList.add('has-script');
document.addEventListener('DOMContentLoaded', start);
