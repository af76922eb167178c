import type { ComponentChildren, Ref } from 'preact';
import { useId } from 'preact/hooks';
import { Explain, type Word } from './explain.tsx';

interface CommonProps {
  /** Visible, and the accessible name. */
  readonly label: string;
  /** A sentence below the input. */
  readonly help?: ComponentChildren;
  /** What is wrong with the value, below the input; the input is then invalid. */
  readonly error?: string | null | undefined;
  readonly isDisabled?: boolean;
  /** A word of the label that a newcomer cannot know. */
  readonly word?: Word;
}

interface TextProps extends CommonProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly isRequired?: boolean;
  readonly placeholder?: string;
  readonly maxLength?: number;
  /** Takes the focus when it appears, or when its dialog opens. */
  readonly hasFocus?: boolean;
  /** For names, keys and data: fixed width, no spelling. */
  readonly isCode?: boolean;
  readonly onKeyDown?: (event: KeyboardEvent) => void;
}

export interface TextFieldProps extends TextProps {
  readonly type?: 'text' | 'email' | 'url' | 'number' | 'datetime-local' | 'password';
  readonly autocomplete?: 'email' | 'off' | 'one-time-code' | 'username webauthn';
  readonly inputMode?: 'numeric' | 'decimal' | 'text';
  readonly min?: number | string;
  readonly max?: number | string;
  readonly inputRef?: Ref<HTMLInputElement>;
  /** Suggestions. */
  readonly options?: readonly string[];
}

/** Ids of the texts that describe an input. */
function describedBy(id: string, { help, error }: CommonProps): string | undefined {
  const ids = [error ? `${id}-error` : '', help === undefined ? '' : `${id}-help`].filter(
    (one) => one !== '',
  );
  return ids.length === 0 ? undefined : ids.join(' ');
}

function Frame({ id, props, children }: { id: string; props: CommonProps; children: ComponentChildren }) {
  return (
    <div class="field">
      <div class="field-head">
        <label for={id}>{props.label}</label>
        {props.word === undefined ? null : <Explain of={props.word} />}
      </div>
      {children}
      <Notes id={id} props={props} />
    </div>
  );
}

function Notes({ id, props }: { id: string; props: CommonProps }) {
  return (
    <>
      {props.error ? (
        <p id={`${id}-error`} class="field-error">
          {props.error}
        </p>
      ) : null}
      {props.help === undefined ? null : (
        <p id={`${id}-help`} class="field-help">
          {props.help}
        </p>
      )}
    </>
  );
}

function focusOnce(element: HTMLElement | null): void {
  element?.focus();
}

/** What text inputs have in common. */
function inputAttributes(id: string, props: TextProps) {
  return {
    id,
    value: props.value,
    required: props.isRequired,
    disabled: props.isDisabled,
    placeholder: props.placeholder,
    maxLength: props.maxLength,
    class: props.isCode ? 'code' : '',
    spellcheck: props.isCode ? false : undefined,
    // An input in a dialog that is not open yet cannot have the focus: `showModal` gives it.
    autofocus: props.hasFocus === true,
    autocapitalize: props.isCode ? ('off' as const) : undefined,
    'aria-invalid': props.error ? true : undefined,
    'aria-describedby': describedBy(id, props),
    onKeyDown: props.onKeyDown,
  };
}

/** A line of text. */
export function TextField(props: TextFieldProps) {
  const id = useId();
  return (
    <Frame id={id} props={props}>
      <input
        {...inputAttributes(id, props)}
        // The types know one form of input for each type; here it is a union of them.
        type={(props.type ?? 'text') as 'text'}
        autoComplete={(props.autocomplete ?? 'off') as 'off'}
        inputMode={props.inputMode}
        min={props.min}
        max={props.max}
        {...(props.options === undefined ? {} : { list: `${id}-options` })}
        ref={props.inputRef ?? (props.hasFocus ? focusOnce : null)}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
      {props.options === undefined ? null : (
        <datalist id={`${id}-options`}>
          {props.options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </Frame>
  );
}

export interface TextAreaProps extends TextProps {
  /** Visible lines. Default 6. */
  readonly rows?: number;
}

/** Several lines of text. */
export function TextArea(props: TextAreaProps) {
  const id = useId();
  return (
    <Frame id={id} props={props}>
      <textarea
        {...inputAttributes(id, props)}
        rows={props.rows ?? 6}
        ref={props.hasFocus ? focusOnce : null}
        onInput={(event) => props.onInput(event.currentTarget.value)}
      />
    </Frame>
  );
}

export interface SelectProps<Value extends string> extends CommonProps {
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly text: string }[];
  readonly onChange: (value: Value) => void;
}

/** One of several values. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const id = useId();
  return (
    <Frame id={id} props={props}>
      <select
        id={id}
        value={props.value}
        disabled={props.isDisabled}
        aria-invalid={props.error ? true : undefined}
        aria-describedby={describedBy(id, props)}
        onChange={(event) => props.onChange(event.currentTarget.value as Value)}
      >
        {props.options.map(({ value, text }) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export interface CheckboxProps extends CommonProps {
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
}

/** A box with its text beside it. */
export function Checkbox(props: CheckboxProps) {
  return <Tick props={props} isSwitch={false} />;
}

/** As a checkbox, but what it says takes effect at once: role `switch`. */
export function Switch(props: CheckboxProps) {
  return <Tick props={props} isSwitch />;
}

function Tick({ props, isSwitch }: { props: CheckboxProps; isSwitch: boolean }) {
  const id = useId();
  return (
    <div class="tick">
      <input
        id={id}
        type="checkbox"
        {...(isSwitch ? { role: 'switch' } : {})}
        checked={props.isChecked}
        disabled={props.isDisabled}
        aria-invalid={props.error ? true : undefined}
        aria-describedby={describedBy(id, props)}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <label for={id}>{props.label}</label>
      <Notes id={id} props={props} />
    </div>
  );
}
