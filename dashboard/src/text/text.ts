/** The words of the dashboard, from en.json. */
import en from './en.json' with { type: 'json' };

type Sections = typeof en;
/** `section.name`. */
export type TextKey = { [S in keyof Sections]: `${S}.${Extract<keyof Sections[S], string>}` }[keyof Sections];
export type TextValues = Readonly<Record<string, string | number>>;

function textOf(key: TextKey): string {
  const dot = key.indexOf('.');
  const sections: Readonly<Record<string, Readonly<Record<string, string>>>> = en;
  return sections[key.slice(0, dot)]![key.slice(dot + 1)]!;
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
