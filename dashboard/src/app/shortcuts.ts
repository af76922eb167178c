/** Keyboard shortcuts: the table of those that are active, and the listener. */
import { signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import type { TextKey } from '../text/text.ts';
import { readSetting, writeSetting } from './settings.ts';

export interface Shortcut {
  /** One key, or two with a space between: `c`, `g r`. As `KeyboardEvent.key` has them. */
  readonly keys: string;
  /** What it does, for the help. */
  readonly text: TextKey;
  readonly run: () => void;
}

/** Later ones win over earlier ones with the same keys. */
const active = signal<readonly Shortcut[]>([]);

/** Single keys can be switched off (WCAG 2.1.4). */
export const areShortcutsOn = signal(readSetting('shortcuts') !== 'off');

export function switchShortcuts(on: boolean): void {
  areShortcutsOn.value = on;
  writeSetting('shortcuts', on ? null : 'off');
}

export function activeShortcuts(): readonly Shortcut[] {
  const byKeys = new Map(active.value.map((shortcut) => [shortcut.keys, shortcut]));
  return [...byKeys.values()];
}

/** Active as soon as the component is drawn, and while it is. `run` may change with each render. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useLayoutEffect(() => addShortcuts(shortcuts), [shortcuts]);
}

/** @returns a function that removes them */
export function addShortcuts(shortcuts: readonly Shortcut[]): () => void {
  active.value = [...active.peek(), ...shortcuts];
  return () => {
    active.value = active.peek().filter((one) => !shortcuts.includes(one));
  };
}

/** Milliseconds in which the second key must follow. */
const SEQUENCE_MS = 1500;

let first: { key: string; at: number } | null = null;

function onKey(event: KeyboardEvent): void {
  if (!areShortcutsOn.value || event.defaultPrevented || isTyping(event)) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // A dialog has keys of its own.
  if (document.querySelector('dialog:modal') !== null) return;
  const all = activeShortcuts();
  const sequence =
    first !== null && performance.now() - first.at < SEQUENCE_MS ? `${first.key} ${event.key}` : '';
  const found = all.find(({ keys }) => keys === sequence) ?? all.find(({ keys }) => keys === event.key);
  first = all.some(({ keys }) => keys.startsWith(`${event.key} `))
    ? { key: event.key, at: performance.now() }
    : null;
  if (found === undefined) return;
  event.preventDefault();
  first = null;
  found.run();
}

function isTyping({ target }: KeyboardEvent): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type);
  return (
    target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable
  );
}

export function startShortcuts(): void {
  document.addEventListener('keydown', onKey);
}
