import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAction } from '../data/use-action.ts';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';
import { TextField } from './field.tsx';

export interface ConfirmDialogProps {
  readonly title: string;
  /** What will happen. */
  readonly children: ComponentChildren;
  /** Text of the button that does it. Default `Delete`. */
  readonly confirm?: string;
  /** Default `danger`. */
  readonly tone?: 'danger' | 'primary';
  /** What must be typed before, for deletions of much. */
  readonly typed?: string;
  /** Does it. When it rejects, the dialog stays and shows why; else `onClose` is called. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirm = t('ui.delete'), tone = 'danger', typed, onConfirm, onClose } = props;
  const [text, setText] = useState('');
  const { isBusy, error, run } = useAction();
  const act = async (): Promise<void> => {
    await onConfirm();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run(act);
        }}
      >
        <div class="prose">{children}</div>
        {typed === undefined ? null : (
          <TextField label={t('ui.typeToConfirm', { word: typed })} value={text} onInput={setText} isCode />
        )}
        {error === undefined ? null : <ErrorNote error={error} />}
        <div class="actions">
          <Button onClick={onClose}>{t('ui.cancel')}</Button>
          <Button
            type="submit"
            tone={tone}
            isBusy={isBusy}
            isDisabled={typed !== undefined && typed !== text}
          >
            {confirm}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
