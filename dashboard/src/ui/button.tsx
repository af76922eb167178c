import type { ComponentChildren, TargetedMouseEvent } from 'preact';

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly onClick?: (event: TargetedMouseEvent<HTMLButtonElement>) => unknown;
  /** `primary`: the one main action. `danger`: deletes. `quiet`: without a frame, for rows and bars. Default: framed. */
  readonly tone?: 'primary' | 'danger' | 'quiet';
  /** `submit` in forms. Default `button`. */
  readonly type?: 'button' | 'submit';
  /** Shows that the action is under way and ignores clicks, but keeps the focus. */
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  /** Accessible name, where the visible text is not enough: `Delete greeting.acme.v1` must still begin with the visible text. */
  readonly label?: string;
  /** Tooltip. */
  readonly title?: string;
  /** For toggles. */
  readonly isPressed?: boolean;
  /** Takes the focus when it appears, or when its dialog opens. */
  readonly hasFocus?: boolean;
}

/** A button. A promise from `onClick` is not awaited: show its progress with `isBusy`. */
export function Button(props: ButtonProps) {
  const { children, onClick, tone, type = 'button', isBusy = false, isDisabled = false } = props;
  return (
    <button
      type={type}
      class={`button ${tone ?? ''}`}
      disabled={isDisabled}
      aria-busy={isBusy || undefined}
      aria-label={props.label}
      aria-pressed={props.isPressed}
      title={props.title}
      autofocus={props.hasFocus === true}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {children}
    </button>
  );
}
