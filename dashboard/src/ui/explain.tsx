import { useId, useRef } from 'preact/hooks';
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

/** A button beside a word, with what it means: by a click, and under the pointer. */
export function Explain({ of }: { readonly of: Word }) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const note = useRef<HTMLDivElement>(null);
  const open = (): void => {
    if (note.current?.matches(':popover-open') === false) note.current.showPopover();
    if (button.current !== null && note.current !== null) placePopover(button.current, note.current, 'start');
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="explain"
        aria-label={t('glossary.whatIs', { word: t(`glossary.${of}`) })}
        aria-controls={id}
        onClick={open}
        onMouseEnter={open}
        onMouseLeave={() => note.current?.hidePopover()}
      >
        <Icon of={HelpIcon} />
      </button>
      <div ref={note} id={id} class="menu explanation" popover="auto" role="note">
        {t(`glossary.${of}Text`)}
      </div>
    </>
  );
}
