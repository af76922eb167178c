/** What a visitor types into the prompt, as the name to ask. People write words, or leave the zone away. */

type Pattern = readonly [form: RegExp, name: (parts: Readonly<Record<string, string>>) => string];

/** Words for units, where the slug of the service is another. A plural loses its `s`. */
const UNITS: Readonly<Record<string, string>> = {
  '°c': 'c',
  '°f': 'f',
  celsius: 'c',
  centimeter: 'cm',
  centimetre: 'cm',
  fahrenheit: 'f',
  feet: 'ft',
  foot: 'ft',
  gallon: 'gal',
  gram: 'g',
  inch: 'in',
  inche: 'in',
  kelvin: 'k',
  kilo: 'kg',
  kilogram: 'kg',
  kilometer: 'km',
  kilometre: 'km',
  liter: 'l',
  litre: 'l',
  meter: 'm',
  metre: 'm',
  mile: 'mi',
  ounce: 'oz',
  pound: 'lb',
  yard: 'yd',
};

const JOIN = String.raw`\s+(?:to|in|into|as|=)\s+|\s*(?:→|->)\s*`;

/** The first that fits is taken. All are matched against lower case, without a mark at the end. */
const PATTERNS: readonly Pattern[] = [
  [/^(?:the )?weather (?:in|at|for|of) (?<place>.+)$/, ({ place = '' }) => `get.${word(place)}.weather`],
  [/^(?<place>.+) weather$/, ({ place = '' }) => `get.${word(place)}.weather`],
  [/^(?:the )?forecast (?:in|at|for|of) (?<place>.+)$/, ({ place = '' }) => `get.${word(place)}.forecast`],
  [
    /^(?:what is the |what's the |the )?(?:local )?time (?:in|at|of) (?<place>.+)$/,
    ({ place = '' }) => `get.${word(place)}.time`,
  ],
  [
    /^(?:the )?(?:sun|sunrise|sunset)(?: (?:in|at|of))? (?<place>.+)$/,
    ({ place = '' }) => `get.${word(place)}.sun`,
  ],
  [
    /^(?:roll )?(?<count>\d{0,3})d(?<sides>\d{1,4})\s*(?:(?<sign>[+-])\s*(?<plus>\d+))?$/,
    ({ count = '', sides = '', sign, plus }) =>
      `get.${count}d${sides}${sign === undefined ? '' : `${sign === '+' ? 'p' : 'n'}${plus}`}.dice`,
  ],
  [
    new RegExp(String.raw`^(?<value>[-−]?[\d,]*\.?\d+)\s*(?<from>[a-z°]+)(?:${JOIN})(?<to>[a-z°]+)$`),
    ({ value = '', from = '', to = '' }) =>
      `get.${value.replaceAll(',', '').replace(/^[-−]/, 'n').replace('.', 'd')}-${unit(from)}-to-${unit(to)}.units`,
  ],
  [
    new RegExp(String.raw`^(?<base>[a-z]{3})(?:${JOIN}|\s*/\s*)(?<quote>[a-z]{3})$`),
    ({ base, quote }) => `get.${base}-${quote}.forex`,
  ],
  [
    /^(?<network>\d+\.\d+\.\d+\.\d+\/\d+)$/,
    ({ network = '' }) => `get.${network.replaceAll(/[./]/g, '-')}.cidr`,
  ],
  [
    /^(?:where is )?(?<address>\d+\.\d+\.\d+\.\d+)(?: is where| where)?$/,
    ({ address = '' }) => `geoip.ip-${address.replaceAll('.', '-')}`,
  ],
  [/^(?<number>\d+) in words$/, ({ number }) => `get.${number}.words`],
  [/^(?:the )?(?<service>moon|coin|uuid|epoch|pi|btc)$/, ({ service }) => `get.${service}`],
];

/** São Paulo is sao-paulo. */
function word(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
}

function unit(text: string): string {
  return UNITS[text] ?? UNITS[text.replace(/s$/, '')] ?? text;
}

/** The end of a name of a namespace, to which only the zone is missing. */
const WITHOUT_ZONE = /^[^\s.]+(?:\.[^\s.]+)*\.v\d+$/;
/** As the cards show names of public services. */
const WITHOUT_NAMESPACE = /^(?:get|info)(?:\.[a-z0-9_-]+){1,4}$|^geoip\.ip-[a-z0-9-]+$/;

/**
 * The name that a text means; the text itself where it is none of these forms.
 * @param zone that a name without one is completed by
 */
export function typedName(text: string, zone: string): string {
  const trimmed = text.trim();
  const folded = trimmed.toLowerCase().replace(/[\s?!.]+$/, '');
  for (const [form, name] of PATTERNS) {
    const parts = form.exec(folded)?.groups;
    if (parts !== undefined) return `${name(parts)}.public.v1.${zone}`;
  }
  if (WITHOUT_ZONE.test(folded)) return `${trimmed.replace(/\.$/, '')}.${zone}`;
  if (WITHOUT_NAMESPACE.test(folded) && !folded.endsWith(`.${zone}`)) return `${folded}.public.v1.${zone}`;
  return trimmed;
}
