/** What the answer of a public service says, for people. The fields are those of docs/SERVICES.md. */
import { type TextKey, t, tn } from '../text/text.ts';
import { count, grouped } from './format.ts';

export interface ValueWords {
  /** The value: `3.10685596119 mi`. */
  readonly headline: string;
  /** What it is the value of: `5 km in mi`. May be empty. */
  readonly detail: string;
}

type Fields = ReadonlyMap<string, string>;

interface Form {
  /** Fields that an answer of this form has. The first form that fits is taken. */
  readonly has: readonly string[];
  readonly headline: TextKey;
  readonly detail: TextKey;
  /** The field whose number decides between `one address` and `{n} addresses`. */
  readonly counts?: string;
}

const FORMS: readonly Form[] = [
  { has: ['res', 'cat'], headline: 'values.units', detail: 'values.unitsOf' },
  { has: ['res', 'from', 'to'], headline: 'values.base', detail: 'values.baseOf' },
  { has: ['words', 'val'], headline: 'values.words', detail: 'values.wordsOf' },
  { has: ['wx0'], headline: 'values.forecast', detail: 'values.forecastOf' },
  { has: ['tc', 'tf'], headline: 'values.weather', detail: 'values.weatherOf' },
  { has: ['rate', 'base'], headline: 'values.forex', detail: 'values.forexOf' },
  { has: ['prc', 'quote'], headline: 'values.crypto', detail: 'values.cryptoOf' },
  { has: ['prc', 'sym'], headline: 'values.stock', detail: 'values.stockOf' },
  { has: ['height', 'fee'], headline: 'values.btc', detail: 'values.btcOf' },
  { has: ['net', 'n'], headline: 'values.cidr', detail: 'values.cidrOf', counts: 'n' },
  { has: ['ip', 'country'], headline: 'values.geoip', detail: 'values.geoipOf' },
  { has: ['dice', 'sum'], headline: 'values.dice', detail: 'values.diceOf' },
  { has: ['flips'], headline: 'values.coin', detail: 'values.coinOf' },
  { has: ['val', 'min', 'max'], headline: 'values.random', detail: 'values.randomOf' },
  { has: ['uuid'], headline: 'values.uuid', detail: 'values.uuidOf' },
  { has: ['pi'], headline: 'values.pi', detail: 'values.piOf' },
  { has: ['rise', 'set'], headline: 'values.sun', detail: 'values.sunOf' },
  { has: ['noon', 'state'], headline: 'values.sunNever', detail: 'values.sunOf' },
  { has: ['phase', 'illum'], headline: 'values.moon', detail: 'values.moonOf' },
  { has: ['zone', 'iso'], headline: 'values.time', detail: 'values.timeOf' },
  { has: ['sec', 'iso'], headline: 'values.epoch', detail: 'values.epochOf' },
  { has: ['km', 'nmi'], headline: 'values.aerial', detail: 'values.aerialOf' },
];

const STATES: Readonly<Record<string, string>> = {
  polarday: t('values.polarday'),
  polarnight: t('values.polarnight'),
};
const DEGREES: Readonly<Record<string, string>> = { c: '°C', f: '°F', k: 'K' };
/** `2026-11-26T14:28:38+09:00`, as it is there: a place shows its own time. */
const CLOCK = /T(\d\d:\d\d)/;

/** Null for fields of another form. */
export function valueWords(fields: Fields): ValueWords | null {
  const form = FORMS.find(({ has }) => has.every((name) => fields.has(name)));
  if (form === undefined) return null;
  const values = Object.fromEntries([...fields].map(([name, value]) => [name, shown(name, value, fields)]));
  const { headline, detail, counts } = form;
  const number = counts === undefined ? 0 : Number(fields.get(counts));
  // One coin, or one die without a bonus, is its value once more.
  const isValueAgain =
    fields.get('flips')?.includes(' ') === false ||
    (fields.has('rolls') && fields.get('rolls') === fields.get('sum'));
  return {
    headline: filled(tn(headline, number, values)),
    detail: isValueAgain ? (fields.get('dice') ?? '') : filled(t(detail, values)),
  };
}

/** A field that is missing leaves no mark, and nothing that joined it to the others. */
function filled(text: string): string {
  return text.replace(/\s*·?\s*\{\w+\}%?/g, '').replace(/^[\s·]+/, '');
}

function shown(name: string, value: string, fields: Fields): string {
  const isTemperature = fields.get('cat') === 'temperature' && (name === 'from' || name === 'to');
  if (isTemperature) return DEGREES[value] ?? value;
  if (['iso', 'rise', 'set', 'noon', 'dawn', 'dusk'].includes(name)) return CLOCK.exec(value)?.[1] ?? value;
  if (name === 'phase') return capital(value.replaceAll('-', ' '));
  if (name === 'day') return capital(value);
  if (name === 'state') return STATES[value] ?? value;
  // Counts and prices are short enough for a number; longer ones keep their digits.
  if (['km', 'mi', 'height', 'prc'].includes(name) && value.length <= 15) return count(Number(value));
  // Fields that are decimal numbers in every answer. Of base, `val` and `res` have digits of any base.
  const isNumber = ['n', 'sec', 'heads', 'tails', 'sum', 'min', 'max'].includes(name);
  const isOfUnits = fields.has('cat') && ['val', 'res'].includes(name);
  const isOfRandom = fields.has('min') && name === 'val';
  if (name === 'rolls') return value.replaceAll(' ', ' + ');
  return isNumber || isOfUnits || isOfRandom ? grouped(value) : value;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
