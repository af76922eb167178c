import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { askBeforeLeaving } from '../app/router.ts';
import type { FormDraft } from '../data/drafts.ts';
import { useAction } from '../data/use-action.ts';
import { time } from '../format/format.ts';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';
import { useDialog } from './dialog.tsx';
import { ErrorNote } from './error-note.tsx';

export interface DialogFormProps {
  readonly children: ComponentChildren;
  /** Text of the button that does it. */
  readonly submit: string;
  /** Default `primary`. */
  readonly tone?: 'primary' | 'danger';
  /**
   * Does it, for Enter, Ctrl+Enter and the button. Null: what was typed is not right yet, and the fields say why. A rejection is shown, and the
   * form stays. `kept`: nothing is saved yet.
   */
  readonly onSubmit: () => Promise<unknown> | null;
  readonly isDisabled?: boolean;
  /** The form checks its fields itself; else the browser does before `onSubmit`. */
  readonly hasOwnChecks?: boolean;
  /** The state of the form: its changes are not lost without a question. */
  readonly draft?: Pick<FormDraft<object>, 'isChanged' | 'leftAt' | 'restore' | 'forget' | 'saved'>;
  /** More than the error: in view with the buttons. */
  readonly note?: ComponentChildren;
  /** The answer is the only one with a secret: the dialog must stay. Called when it begins and ends. */
  readonly onBusy?: (isBusy: boolean) => void;
  /** Below the error, for what can be done about it. */
  readonly help?: (error: unknown) => ComponentChildren;
  /** The focus is on the button that does nothing. */
  readonly isCancelFirst?: boolean;
  /** Default: closes the dialog. */
  readonly onCancel?: () => void;
  readonly cancel?: string;
}

/** A form in a dialog: its error and its buttons stay in view while its fields scroll. */
export function DialogForm(props: DialogFormProps) {
  const { children, submit, tone = 'primary', onSubmit, draft, help, cancel = t('ui.cancel') } = props;
  const dialog = useDialog();
  const { isBusy, error, run } = useAction();
  const isChanged = draft?.isChanged === true;
  const latest = useRef({ isChanged, isBusy, saved: draft?.saved });
  latest.current = { isChanged, isBusy, saved: draft?.saved };
  const guard = dialog?.guard;
  useLayoutEffect(() => guard?.(() => latest.current.isChanged), []);
  useLayoutEffect(() => {
    // A save that is under way leaves by itself.
    if (!isChanged) return;
    return askBeforeLeaving(() => latest.current.isBusy || confirm(t('ui.unsaved')));
  }, [isChanged]);
  const act = (): void =>
    run(async () => {
      const work = onSubmit();
      if (work === null) return;
      props.onBusy?.(true);
      try {
        if ((await work) !== 'kept') latest.current.saved?.();
      } finally {
        props.onBusy?.(false);
      }
    });
  return (
    <form
      noValidate={props.hasOwnChecks === true}
      onSubmit={(event) => {
        event.preventDefault();
        act();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey) || event.defaultPrevented) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      {draft == null || draft.leftAt === null ? null : (
        <div class="note draft" role="status">
          <span>{t('ui.draftLeft', { time: time(new Date(draft.leftAt).toISOString()) })}</span>
          <span class="actions">
            <Button onClick={draft.restore}>{t('ui.restore')}</Button>
            <Button tone="quiet" onClick={draft.forget}>
              {t('ui.forget')}
            </Button>
          </span>
        </div>
      )}
      {children}
      <div class="dialog-foot">
        {props.note}
        {error === undefined ? null : <ErrorNote error={error} />}
        {error === undefined ? null : help?.(error)}
        <div class="actions">
          <Button
            isDisabled={isBusy && dialog?.canClose === false}
            {...(props.isCancelFirst && { hasFocus: true })}
            onClick={props.onCancel ?? dialog?.close ?? (() => undefined)}
          >
            {cancel}
          </Button>
          <Button
            type="submit"
            tone={tone}
            isBusy={isBusy}
            title={t('ui.ctrlEnter')}
            {...(props.isDisabled && { isDisabled: true })}
          >
            {submit}
          </Button>
        </div>
      </div>
    </form>
  );
}
