import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { t, tn } from '../text/text.ts';
import { Checkbox } from './field.tsx';

export interface NamePickerProps {
  /** Of the group, or of the input. */
  readonly label: string;
  readonly help: string;
  readonly names: readonly string[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
}

/** So many fit beside each other as boxes. */
const BOXES_MAX = 6;
/** Rows of the list: more are found by typing. */
const SHOWN_MAX = 50;

/** Some names out of a list: boxes for a few, an input with suggestions for many. Without any name there is nothing. */
export function NamePicker({ label, help, names, chosen, onChange }: NamePickerProps) {
  if (names.length === 0) return null;
  if (names.length > BOXES_MAX) return <Search {...{ label, help, names, chosen, onChange }} />;
  return (
    <fieldset class="ticks">
      <legend>{label}</legend>
      <p class="field-help">{help}</p>
      {names.map((name) => (
        <Checkbox
          key={name}
          label={name}
          isChecked={chosen.has(name)}
          onChange={() => onChange(toggled(chosen, name))}
        />
      ))}
    </fieldset>
  );
}

/** A combobox whose list takes several. Enter takes or drops a name, Backspace drops the last one. */
function Search({ label, help, names, chosen, onChange }: NamePickerProps) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const wanted = typed.trim().toLowerCase();
  const found = names.filter((name) => name.toLowerCase().includes(wanted)).slice(0, SHOWN_MAX);
  const place = Math.min(at, Math.max(0, found.length - 1));
  useEffect(() => {
    if (isOpen) document.getElementById(`${id}-list`)?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, id]);
  const move = (to: number): void => {
    setOpen(true);
    setAt(to);
    document.getElementById(`${id}-${to}`)?.scrollIntoView({ block: 'nearest' });
  };
  const take = (name: string | undefined): void => {
    if (name !== undefined) onChange(toggled(chosen, name));
    setTyped('');
    setAt(0);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0)
      move(isOpen ? (place + step + found.length) % found.length : place);
    else if (event.key === 'Enter' && isOpen && !event.ctrlKey && !event.metaKey) take(found[place]);
    else if (event.key === 'Escape' && isOpen) {
      setOpen(false);
      event.stopPropagation();
    } else if (event.key === 'Backspace' && typed === '' && chosen.size > 0) take([...chosen].at(-1));
    else return;
    event.preventDefault();
  };
  return (
    <div
      class="field name-picker"
      onFocusOut={(event) => {
        if (!(event.relatedTarget instanceof Node && event.currentTarget.contains(event.relatedTarget)))
          setOpen(false);
      }}
    >
      <label for={id}>{label}</label>
      {chosen.size === 0 ? null : (
        <ul class="chips">
          {[...chosen].map((name) => (
            <li key={name} class="chip">
              <span>{name}</span>
              <button
                type="button"
                aria-label={t('ui.drop', { name })}
                onClick={() => {
                  onChange(toggled(chosen, name));
                  input.current?.focus();
                }}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        id={id}
        ref={input}
        type="text"
        role="combobox"
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && found.length > 0 ? `${id}-${place}` : undefined}
        aria-describedby={`${id}-help`}
        placeholder={t('ui.searchNames', { count: names.length })}
        autoComplete="off"
        spellcheck={false}
        value={typed}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setOpen(true);
          setAt(0);
        }}
        onClick={() => setOpen(true)}
        onKeyDown={onKeyDown}
      />
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label={label}
        aria-multiselectable="true"
        class="palette name-list"
        hidden={!isOpen}
      >
        {found.map((name, index) => (
          <div
            key={name}
            id={`${id}-${index}`}
            role="option"
            aria-selected={chosen.has(name)}
            class={index === place ? 'active' : ''}
            tabIndex={-1}
            onClick={() => {
              take(name);
              input.current?.focus();
            }}
          >
            <span>{name}</span>
            <span aria-hidden="true">{chosen.has(name) ? '✓' : ''}</span>
          </div>
        ))}
      </div>
      <p class="hidden" role="status">
        {isOpen ? tn('ui.foundNames', found.length) : ''}
      </p>
      <p id={`${id}-help`} class="field-help">
        {help}
      </p>
    </div>
  );
}

function toggled(set: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(set);
  if (!next.delete(name)) next.add(name);
  return next;
}
