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
