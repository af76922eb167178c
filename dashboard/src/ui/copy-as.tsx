import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { CodeBlock } from './code-block.tsx';
import { placePopover } from './place-popover.ts';
import { Tabs } from './tabs.tsx';

export interface CopyAsProps {
  /** Such as dig, curl, node, python, in the order of the tabs. Placeholders like $UQRP_TOKEN stand for secrets. */
  readonly variants: readonly { readonly name: string; readonly code: string }[];
  /** Text of the button. Default `Copy as`. */
  readonly label?: string;
}

/** A button that shows an action as commands and code below it, each with a button to copy it. Without any there is no button. */
export function CopyAs({ variants, label = t('ui.copyAs') }: CopyAsProps) {
  const id = useId();
  const [isOpen, setOpen] = useState(false);
  const [current, setCurrent] = useState(variants[0]?.name ?? '');
  const button = useRef<HTMLButtonElement>(null);
  const popover = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!isOpen || popover.current === null || button.current === null) return;
    placePopover(button.current, popover.current);
    popover.current.querySelector<HTMLElement>('[role=tab], button')?.focus();
  }, [isOpen]);
  const shown = variants.find(({ name }) => name === current) ?? variants[0];
  if (shown === undefined) return null;
  return (
    <>
      <button
        ref={button}
        type="button"
        class="button"
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        popovertarget={id}
      >
        {label}
      </button>
      <div
        ref={popover}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={label}
        class="menu copy-as"
        onToggle={(event) => setOpen(event.newState === 'open')}
      >
        {isOpen ? (
          <Tabs
            label={label}
            tabs={variants.map(({ name }) => ({ id: name, text: name }))}
            current={shown.name}
            onChange={setCurrent}
          >
            <CodeBlock code={shown.code} label={shown.name} />
          </Tabs>
        ) : null}
      </div>
    </>
  );
}
