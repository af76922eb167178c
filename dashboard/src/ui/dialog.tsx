import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { t } from '../text/text.ts';

export interface DialogProps {
  /** Its heading and accessible name. */
  readonly title: string;
  readonly children: ComponentChildren;
  /** Called for Esc and for the button in the corner. Render the dialog only while it is open. */
  readonly onClose: () => void;
  /** False: neither Esc nor a button closes it. Default true. */
  readonly canClose?: boolean;
  /** `side`: a panel at the edge, for the details of a row. Default: in the middle. */
  readonly place?: 'middle' | 'side';
  /** A wide one, for tables and code. */
  readonly isWide?: boolean;
}

/** A modal `<dialog>`. A click beside it does not close it. The focus returns to where it was. */
export function Dialog(props: DialogProps) {
  const { title, children, onClose, canClose = true, place = 'middle' } = props;
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // The event `close` comes after the dialog is gone: another dialog may stand in its place, and must not be closed by it.
  const isGone = useRef(false);
  useEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    if (dialog?.open === false) dialog.showModal();
    isGone.current = false;
    return () => {
      isGone.current = true;
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog ${place} ${props.isWide ? 'wide' : ''}`}
      aria-labelledby={heading}
      closedby={canClose ? 'closerequest' : 'none'}
      onCancel={(event) => {
        // A file input inside also sends `cancel`.
        if (event.target !== event.currentTarget) return;
        event.preventDefault();
        if (canClose) onClose();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !canClose) event.preventDefault();
      }}
      onClose={() => {
        // A browser may close a dialog by a second Esc without `cancel` in between.
        if (isGone.current) return;
        if (canClose) onClose();
        else element.current?.showModal();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        {canClose ? (
          <button type="button" class="button quiet corner" aria-label={t('ui.close')} onClick={onClose}>
            ×
          </button>
        ) : null}
      </header>
      <div class="dialog-body">{children}</div>
    </dialog>
  );
}
