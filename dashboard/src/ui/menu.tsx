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
  // A press on the button of an open menu closes it before the click comes.
  const wasOpen = useRef(false);
  const open = (at: number): void => {
    list.current?.showPopover();
    if (button.current !== null && list.current !== null) placePopover(button.current, list.current);
    entries().at(at)?.focus();
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
        onPointerDown={() => {
          wasOpen.current = list.current?.matches(':popover-open') === true;
        }}
        onClick={() => {
          if (wasOpen.current) close();
          else open(0);
          wasOpen.current = false;
        }}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
          event.preventDefault();
          event.stopPropagation();
          open(event.key === 'ArrowUp' ? -1 : 0);
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
        onToggle={(event) => setOpen(event.newState === 'open')}
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
