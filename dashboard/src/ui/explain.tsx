import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { HelpIcon, Icon } from './icon.tsx';
import { placePopover } from './place-popover.ts';

/** Words of this product that a newcomer cannot know. */
export type Word =
  | 'cacheTime'
  | 'encoding'
  | 'envelope'
  | 'expiry'
  | 'key'
  | 'namespace'
  | 'node'
  | 'queryToken'
  | 'resource'
  | 'scope';

/** A button beside a word, with what it means: by a press, and under the pointer. Esc hides it. */
export function Explain({ of }: { readonly of: Word }) {
  const button = useRef<HTMLButtonElement>(null);
  const note = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  useLayoutEffect(() => {
    if (!isOpen || button.current === null || note.current === null) return;
    note.current.showPopover();
    placePopover(button.current, note.current, 'start');
  }, [isOpen]);
  return (
    <>
      <button
        ref={button}
        type="button"
        class="explain"
        aria-label={t('glossary.whatIs', { word: t(`glossary.${of}`) })}
        aria-expanded={isOpen}
        onClick={() => setOpen(true)}
        onMouseEnter={() => setOpen(true)}
        onMouseLeave={() => setOpen(false)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          if (event.key !== 'Escape' || !isOpen) return;
          // Not for a dialog around.
          event.preventDefault();
          event.stopPropagation();
          setOpen(false);
        }}
      >
        <Icon of={HelpIcon} />
      </button>
      {isOpen ? (
        <div ref={note} class="menu explanation" popover="manual" role="note">
          {t(`glossary.${of}Text`)}
        </div>
      ) : null}
    </>
  );
}
