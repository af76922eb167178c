/** What a person types for a part of a service's name, as the label that the name needs. */
import { encodeParam } from '../../../../sdk/src/dns.ts';

type Write = (text: string) => string;

/** -40.5 is n40d5. A text that begins with letters stays. */
const number: Write = (text) => text.replaceAll(',', '').replace(/^[-−]/, 'n').replace('.', 'd');

/** 10.0.0.0/8 is 10-0-0-0-8, ::1 is 0--1. */
const address: Write = (text) =>
  text
    .replace(/^::/, '0::')
    .replace(/::(?=$|\/)/, '::0')
    .replaceAll(/[.:/]/g, '-');

/** An address before a network: two labels with a dot between. A text that is in the form of a name stays. */
const network: Write = (text) =>
  /[:/]/.test(text) || /^\d+(?:\.\d+){3}$/.test(text) ? text.split(/\s+/).map(address).join('.') : text;

/** New York is new-york; 40.71, -74.01 is 40d71_-74d01; Europe/Berlin is europe-berlin. */
const place: Write = (text) => {
  const point = /^(-?\d+(?:\.\d+)?)\s*[,;\s]\s*(-?\d+(?:\.\d+)?)$/.exec(text);
  if (point !== null) return `${point[1]}_${point[2]}`.replaceAll('.', 'd');
  return text
    .replaceAll('+', '-plus-')
    .replaceAll(/[\s,/]+/g, '-')
    .replaceAll(/-{2,}/g, '-');
};

/** 2026-06-21 London is a date before a place. */
const datedPlace: Write = (text) => {
  const [, date, rest] = /^(\d{4}-\d{2}-\d{2})[.\s]+(.+)$/.exec(text) ?? [];
  return date === undefined || rest === undefined ? place(text) : `${date}.${place(rest)}`;
};

/** 2d6+1 is 2d6p1. */
const dice: Write = (text) => text.replaceAll(' ', '').replace('+', 'p').replace(/[-−]/, 'n');

/** 2026-01-01T12:30:00Z has hyphens for its colons. */
const instant: Write = (text) => number(text.replaceAll(':', '-').replace(' ', 't'));

const WRITERS: Readonly<Record<string, Write>> = {
  'aerial.from': place,
  'aerial.to': place,
  'base.number': number,
  'cidr.network': network,
  'dice.dice': dice,
  'epoch.instant': instant,
  'forecast.location': place,
  'geoip.address': address,
  'random.max': number,
  'random.min': number,
  'sun.location': datedPlace,
  'time.location': place,
  'units.value': number,
  'weather.location': place,
  'words.number': number,
};

/** What each writer undoes, for examples: a reader need not be exact, because `personText` tries the way back. */
const READERS: ReadonlyMap<Write, Write> = new Map<Write, Write>([
  [number, readNumber],
  [address, readAddress],
  [network, (label) => label.split('.').map(readNetwork).join(' ')],
  [place, readPlace],
  [datedPlace, (label) => label.split('.').map(readPlace).join(' ')],
  [dice, (label) => label.replace('p', '+').replace('n', '-')],
  [instant, (label) => readNumber(label).replace(/t(\d\d)-(\d\d)-(\d\d)z$/, 'T$1:$2:$3Z')],
]);

function readNumber(label: string): string {
  return /^n?\d*(?:d\d+)?$/.test(label) ? label.replace(/^n/, '-').replace('d', '.') : label;
}

function readAddress(label: string): string {
  return label.replaceAll('-', /^\d+(?:-\d+){3}$/.test(label) ? '.' : ':');
}

function readNetwork(label: string): string {
  const [, host = label, length] = /^(.+)-(\d+)$/.exec(label) ?? [];
  return label.split('-').length === 4 || length === undefined
    ? readAddress(label)
    : `${readAddress(host)}/${length}`;
}

function readPlace(label: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(label)) return label;
  if (label.includes('_')) return label.replaceAll('d', '.').replace('_', ', ');
  const words = label.replace(/^(europe|america|asia|africa|australia|pacific)-/, '$1/');
  return words
    .replaceAll('-', ' ')
    .replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
    .replace(/ [A-Z][a-z]$|^Utc$/, (code) => code.toUpperCase());
}

/** Coordinates have a `_`, and may begin with a hyphen. An empty part is left to the server. */
const LABEL = /^[a-z0-9_-]{0,63}$/;

/** @throws NameError for a text that fits into no label */
export function typedLabel(service: string, placeholder: string, text: string): string {
  const write = WRITERS[`${service}.${placeholder}`];
  const label = (write === undefined ? text.trim() : write(text.trim())).toLowerCase();
  // Some placeholders are several labels.
  return label
    .split('.')
    .map((part) => (LABEL.test(part) ? part : encodeParam(part)))
    .join('.');
}

/**
 * The name of a template with values. A value that is empty takes the hyphen or the dot beside it along.
 * @param template such as `get.{value}-{from}-to-{to}.units.public.v1.uqrp.net`
 */
export function filledName(template: string, values: Readonly<Record<string, string>>): string {
  let name = template;
  for (const [id, value] of Object.entries(values)) {
    const mark = `{${id}}`;
    if (value !== '') name = name.replace(mark, () => value);
    else name = [`-${mark}`, `${mark}-`, `${mark}.`].reduce((text, part) => text.replace(part, ''), name);
  }
  return name;
}

/** A label of an example as a person would type it; the label itself where there is no other way to write it. */
export function personText(service: string, placeholder: string, label: string): string {
  const writer = WRITERS[`${service}.${placeholder}`];
  const text = (writer === undefined ? undefined : READERS.get(writer)?.(label)) ?? label;
  return typedLabel(service, placeholder, text) === label ? text : label;
}
