import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Dialog } from './dialog.tsx';
import { DialogForm } from './dialog-form.tsx';
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

/** Asks before something that cannot be undone. The focus is on the button that does nothing, or in the field of the word. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { title, children, confirm = t('ui.delete'), tone = 'danger', typed, onConfirm, onClose } = props;
  const [text, setText] = useState('');
  const isRight = typed === undefined || typed === text;
  const act = async (): Promise<void> => {
    await onConfirm();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <DialogForm
        submit={confirm}
        tone={tone}
        isDisabled={!isRight}
        isCancelFirst={typed === undefined}
        onSubmit={() => (isRight ? act() : null)}
        hasOwnChecks
      >
        <div class="prose">{children}</div>
        {typed === undefined ? null : (
          <TextField
            label={t('ui.typeToConfirm', { word: typed })}
            value={text}
            onInput={setText}
            isCode
            hasFocus
          />
        )}
      </DialogForm>
    </Dialog>
  );
}
