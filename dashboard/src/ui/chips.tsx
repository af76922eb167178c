import { count } from '../format/format.ts';

export interface Chip {
  readonly value: string;
  readonly text: string;
  /** Shown behind the text. */
  readonly count?: number;
}

export interface ChipsProps {
  /** Accessible name of the group. */
  readonly label: string;
  readonly chips: readonly Chip[];
  /** Null: none is chosen, which means all. */
  readonly chosen: string | null;
  /** A click on the chosen one gives null. */
  readonly onChange: (value: string | null) => void;
}

/** Filters of which one at most is on. */
export function Chips({ label, chips, chosen, onChange }: ChipsProps) {
  return (
    <fieldset class="chips" aria-label={label}>
      {chips.map((chip) => (
        <button
          key={chip.value}
          type="button"
          class="chip"
          aria-pressed={chip.value === chosen}
          onClick={() => onChange(chip.value === chosen ? null : chip.value)}
        >
          {chip.text}
          {chip.count === undefined ? null : <span class="chip-count"> {count(chip.count)}</span>}
        </button>
      ))}
    </fieldset>
  );
}

export interface BadgeProps {
  readonly text: string;
  /** Colour. The text must say the same. */
  readonly tone?: 'good' | 'bad' | 'warn' | 'info' | 'dim';
}

/** A word about the state of something. */
export function Badge({ text, tone }: BadgeProps) {
  return <span class={`badge ${tone ?? ''}`}>{text}</span>;
}
