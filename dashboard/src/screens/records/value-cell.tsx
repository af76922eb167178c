import { useLayoutEffect, useRef } from 'preact/hooks';
import { milliseconds } from '../../format/format.ts';
import { visibleParts } from '../../format/visible-text.ts';
import { t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import type { RecordRow } from './record-pages.ts';
import type { ValuePreview } from './record-value.ts';

/** What happens to the value of one row in its place. */
export interface InPlace {
  /** As typed; null: it is not being changed, or is being saved. */
  readonly typed: string | null;
  /** It differs from the value that the field began with. */
  readonly isChanged: boolean;
  /** The field is to have the focus, and has not had it yet. */
  readonly takesFocus: boolean;
  /** How far the last write is: null while it is on its way, then the milliseconds until DNS answered it. */
  readonly answered: number | null;
  readonly isDone: boolean;
  readonly onFocus: () => void;
  readonly onType: (text: string) => void;
  readonly onSave: () => void;
  readonly onCancel: () => void;
}

export interface ValueCellProps {
  readonly row: RecordRow;
  readonly inPlace: InPlace | null;
}

/** The value of a record, or the field that changes it. */
export function ValueCell({ row, inPlace }: ValueCellProps) {
  if (inPlace !== null && inPlace.typed !== null) return <Field of={row} inPlace={inPlace} />;
  return (
    <>
      {inPlace === null ? null : (
        <Badge
          tone={inPlace.answered === null ? 'warn' : 'good'}
          text={
            inPlace.answered === null
              ? t(inPlace.isDone ? 'records.storedNow' : 'records.asking')
              : t('records.answeredIn', { ms: milliseconds(inPlace.answered) })
          }
        />
      )}{' '}
      <Value of={row.value} />
    </>
  );
}

function Value({ of: { kind, text, image } }: { readonly of: ValuePreview }) {
  switch (kind) {
    case 'empty':
      return <span class="dim">{t('records.emptyValue')}</span>;
    case 'image':
      return (
        <span class="dim">
          <img class="thumb" src={image} alt="" /> {text}
        </span>
      );
    case 'encrypted':
    case 'signed':
      return (
        <span class="dim">
          {t(`records.value_${kind}`)} <span class="code">{text}</span>
        </span>
      );
    default:
      return <ShownText text={text} />;
  }
}

/** A text in one line, with a mark in the place of each character that one cannot see. */
function ShownText({ text }: { readonly text: string }) {
  return (
    <bdi class="code">
      {visibleParts(text).map((part, at) =>
        part.isMark ? <mark key={at}>{part.text}</mark> : part.text.replace(/\r\n|\r|\n/g, '↵'),
      )}
    </bdi>
  );
}

/** Enter saves, Esc leaves it as it was. The focus goes back to the row. */
function Field({ of, inPlace }: { readonly of: RecordRow; readonly inPlace: InPlace }) {
  const input = useRef<HTMLInputElement>(null);
  // Before the next key: an effect after the picture is drawn lets the first letters fall on the row.
  useLayoutEffect(() => {
    if (!inPlace.takesFocus) return;
    input.current?.focus();
    // What was typed is not lost to the next letter.
    if (!inPlace.isChanged) input.current?.select();
  }, [inPlace.takesFocus]);
  return (
    <input
      ref={input}
      class="in-place code"
      aria-label={t('records.valueOf', { key: of.key })}
      autoComplete="off"
      spellcheck={false}
      value={inPlace.typed ?? ''}
      onFocus={inPlace.onFocus}
      onInput={(event) => inPlace.onType(event.currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.isComposing || (event.key !== 'Enter' && event.key !== 'Escape')) return;
        event.preventDefault();
        event.currentTarget.closest<HTMLElement>('[role=row]')?.focus();
        if (event.key === 'Enter') inPlace.onSave();
        else inPlace.onCancel();
      }}
    />
  );
}
