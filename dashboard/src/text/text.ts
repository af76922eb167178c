/** The words of the dashboard, from en.json. */
import en from './en.json' with { type: 'json' };

type Sections = typeof en;
/** The build gives those that the first screens name; `loadTexts` the others. */
let texts: Readonly<Record<string, Readonly<Record<string, string>>>> = en;
let loading: Promise<void> | null = null;

/** Resolves when all texts are there: before the script of a screen that is not among the first. A load that failed is tried again by the next call. */
export function loadTexts(): Promise<void> {
  loading ??= import('./en.json', { with: { type: 'json' } }).then(
    (module) => {
      texts = module.default;
    },
    (error: unknown) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** `section.name`. */
export type TextKey = { [S in keyof Sections]: `${S}.${Extract<keyof Sections[S], string>}` }[keyof Sections];
export type TextValues = Readonly<Record<string, string | number>>;

function textOf(key: TextKey): string {
  const dot = key.indexOf('.');
  return texts[key.slice(0, dot)]![key.slice(dot + 1)]!;
}

/** For names that come with data; empty where no text has the name. */
export function textIfAny(section: keyof Sections, name: string): string {
  return texts[section]?.[name] ?? '';
}

/** The text of a key. `{name}` in it becomes the value of that name. */
export function t(key: TextKey, values: TextValues = {}): string {
  return textOf(key).replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

const NUMBERS = new Intl.NumberFormat('en');

/** The text of a number: `one record|{count} records` has a form for one and a form for the others. */
export function tn(key: TextKey, count: number, values: TextValues = {}): string {
  const [one, other] = textOf(key).split('|');
  const form = count === 1 ? one : (other ?? one);
  const all: TextValues = { count: NUMBERS.format(count), ...values };
  return form!.replace(/\{(\w+)\}/g, (whole, name: string) => String(all[name] ?? whole));
}
