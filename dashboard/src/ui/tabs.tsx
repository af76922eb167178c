import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

export interface TabsProps {
  /** Accessible name of the list of tabs. */
  readonly label: string;
  readonly tabs: readonly { readonly id: string; readonly text: string }[];
  readonly current: string;
  readonly onChange: (id: string) => void;
  /** The panel of the current tab. */
  readonly children: ComponentChildren;
}

/** Tabs. Arrow keys, Home and End move between them. */
export function Tabs({ label, tabs, current, onChange, children }: TabsProps) {
  const id = useId();
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = tabs.findIndex((tab) => tab.id === current);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length];
    if (tab === undefined) return;
    onChange(tab.id);
    document.getElementById(`${id}-${tab.id}`)?.focus();
  };
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${id}-${tab.id}`}
            type="button"
            role="tab"
            aria-selected={tab.id === current}
            aria-controls={`${id}-panel`}
            tabIndex={tab.id === current ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.text}
          </button>
        ))}
      </div>
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${current}`} tabIndex={0}>
        {children}
      </div>
    </div>
  );
}
