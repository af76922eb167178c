import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { placePopover } from './place-popover.ts';

export interface MenuItem {
  readonly text: string;
  readonly run: () => void;
  /** Deletes. */
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  /** Its key, shown at the end. */
  readonly keys?: string;
}

export interface MenuProps {
  /** Accessible name of the button, such as `More for greeting.acme.v1`. */
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** Default `⋯`. */
  readonly children?: ComponentChildren;
  /** For rows and bars: without a frame. */
  readonly isQuiet?: boolean;
}

/** A button with less frequent actions behind it. Arrows, Home, End and first letters move; Esc gives the focus back to the button. */
export function Menu({ label, items, children = '⋯', isQuiet }: MenuProps) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const entries = (): HTMLElement[] => [
    ...(list.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? []),
  ];
  const focusAt = useRef(0);
  const onToggle = (event: Pick<ToggleEvent, 'newState'>): void => {
    setOpen(event.newState === 'open');
    if (event.newState !== 'open' || button.current === null || list.current === null) return;
    placePopover(button.current, list.current);
    entries().at(focusAt.current)?.focus();
    focusAt.current = 0;
  };
  const close = (): void => {
    list.current?.hidePopover();
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const all = entries();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const { key } = event;
    const steps: Readonly<Record<string, number>> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
    const step = steps[key];
    if (step !== undefined) all.at(step % all.length)?.focus();
    else if (key === 'Escape') close();
    else if (key === 'Tab') {
      close();
      return;
    } else if (key.length === 1 && key !== ' ' && !event.ctrlKey && !event.metaKey) {
      const begins = (one: HTMLElement): boolean =>
        one.textContent?.toLowerCase().startsWith(key.toLowerCase()) === true;
      [...all.slice(at + 1), ...all].find(begins)?.focus();
    } else return;
    event.preventDefault();
    // The keys of the page, and the Esc of a dialog around, are not for an open menu.
    event.stopPropagation();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class={`button ${isQuiet ? 'quiet' : ''}`}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        popovertarget={id}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
          event.preventDefault();
          event.stopPropagation();
          focusAt.current = event.key === 'ArrowUp' ? -1 : 0;
          list.current?.showPopover();
        }}
      >
        <span aria-hidden="true">{children}</span>
      </button>
      <div
        ref={list}
        id={id}
        role="menu"
        aria-label={label}
        class="menu"
        popover="auto"
        onToggle={onToggle}
        onKeyDown={onKeyDown}
      >
        {items.map(({ text, run, isDanger, isDisabled, keys }) => (
          <button
            key={text}
            type="button"
            role="menuitem"
            tabIndex={-1}
            class={isDanger ? 'danger' : ''}
            aria-disabled={isDisabled}
            onClick={() => {
              if (isDisabled) return;
              // First: an action that opens a dialog takes the focus from the button, and gives it back.
              close();
              run();
            }}
          >
            {text}
            {keys === undefined ? null : <kbd>{keys}</kbd>}
          </button>
        ))}
      </div>
    </>
  );
}
