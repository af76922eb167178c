import { type ComponentChildren, createContext } from 'preact';
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';

export interface DialogProps {
  /** Its heading and accessible name. */
  readonly title: string;
  readonly children: ComponentChildren;
  /** Called for Esc and for the button in the corner, after a question where a form in it has changes. Render the dialog only while it is open. */
  readonly onClose: () => void;
  /** False: neither Esc nor a button closes it. Default true. */
  readonly canClose?: boolean;
  /** `side`: a panel at the edge, for the details of a row. `upper`: its height changes, its upper edge stays. Default: in the middle. */
  readonly place?: 'middle' | 'side' | 'upper';
  /** A wide one, for tables and code. */
  readonly isWide?: boolean;
}

/** What the parts of a dialog may ask of it. */
interface DialogControls {
  /** As Esc does: asks first where a form in it has changes. */
  readonly close: () => void;
  readonly canClose: boolean;
  /** @returns a function that takes the guard back */
  readonly guard: (hasChanges: () => boolean) => () => void;
}

const Controls = createContext<DialogControls | null>(null);

/** Of the dialog around; null outside of dialogs. */
export function useDialog(): DialogControls | null {
  return useContext(Controls);
}

/**
 * A modal `<dialog>`. The focus goes to the element with `autofocus`, else to the first one of its body; the button in the corner is the
 * last. A click beside it does not close it. The focus returns to where it was.
 */
export function Dialog(props: DialogProps) {
  const { title, children, onClose, canClose = true, place = 'middle' } = props;
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [isAsking, setAsking] = useState(false);
  const guards = useRef(new Set<() => boolean>());
  // The event `close` comes after the dialog is gone: another dialog may stand in its place, and must not be closed by it.
  const isGone = useRef(false);
  // Before the next frame: what is typed right after a shortcut belongs into the dialog.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    if (dialog !== null) open(dialog);
    isGone.current = false;
    return () => {
      isGone.current = true;
      dialog?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const hasChanges = (): boolean => [...guards.current].some((changed) => changed());
  const close = (): void => {
    if (hasChanges()) setAsking(true);
    else onClose();
  };
  const guard = (changed: () => boolean): (() => void) => {
    guards.current.add(changed);
    return () => void guards.current.delete(changed);
  };
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
        if (canClose) close();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        // Esc closes a menu or an explanation first.
        if (element.current?.querySelector(':popover-open') != null) return;
        // The dialog of the question is inside this one, and has its own Esc.
        if (event.target instanceof Element && event.target.closest('dialog') !== event.currentTarget) return;
        if (!canClose) event.preventDefault();
        else if (hasChanges()) {
          event.preventDefault();
          setAsking(true);
        }
      }}
      onClose={(event) => {
        // A browser may close a dialog by a second Esc without `cancel` in between.
        if (isGone.current || event.target !== event.currentTarget) return;
        if (canClose && !hasChanges()) return onClose();
        element.current?.showModal();
        if (canClose) setAsking(true);
      }}
    >
      <header>
        <h2 id={heading} tabIndex={-1}>
          {title}
        </h2>
      </header>
      <Controls.Provider value={{ close, canClose, guard }}>
        <div class="dialog-body">{children}</div>
      </Controls.Provider>
      {canClose ? (
        <button type="button" class="button quiet corner" aria-label={t('ui.close')} onClick={close}>
          ×
        </button>
      ) : null}
      {isAsking ? (
        <Controls.Provider value={null}>
          <Dialog title={t('ui.discardTitle')} onClose={() => setAsking(false)}>
            <p>{t('ui.discardText')}</p>
            <div class="actions">
              <Button hasFocus onClick={() => setAsking(false)}>
                {t('ui.keepEditing')}
              </Button>
              <Button
                tone="danger"
                onClick={() => {
                  setAsking(false);
                  onClose();
                }}
              >
                {t('ui.discard')}
              </Button>
            </div>
          </Dialog>
        </Controls.Provider>
      ) : null}
    </dialog>
  );
}

/** Opens it, and does not leave the focus on the button that closes it. */
function open(dialog: HTMLDialogElement): void {
  if (!dialog.open) dialog.showModal();
  const { activeElement } = document;
  if (activeElement === dialog || activeElement?.matches('.dialog > .corner') === true)
    dialog.querySelector<HTMLElement>('h2')?.focus();
}
