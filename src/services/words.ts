import { constant, malformedAnswer } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const BELOW_TWENTY = [
  ...['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'],
  ...[
    'ten',
    'eleven',
    'twelve',
    'thirteen',
    'fourteen',
    'fifteen',
    'sixteen',
    'seventeen',
    'eighteen',
    'nineteen',
  ],
] as const;
const TENS = ['', '', 'twenty', 'thirty', 'forty', 'fifty', 'sixty', 'seventy', 'eighty', 'ninety'] as const;
/** Short scale: each 1000 times the one before. */
const SCALES = [
  ...[
    '',
    'thousand',
    'million',
    'billion',
    'trillion',
    'quadrillion',
    'quintillion',
    'sextillion',
    'septillion',
  ],
  ...[
    'octillion',
    'nonillion',
    'decillion',
    'undecillion',
    'duodecillion',
    'tredecillion',
    'quattuordecillion',
  ],
  ...['quindecillion', 'sexdecillion', 'septendecillion', 'octodecillion', 'novemdecillion'],
] as const;
/** A label has 63 octets. */
const DIGITS_MAX = 63;

/** Ordinals that are not made by `th`. */
const ORDINALS: Readonly<Record<string, string>> = {
  one: 'first',
  two: 'second',
  three: 'third',
  five: 'fifth',
  eight: 'eighth',
  nine: 'ninth',
  twelve: 'twelfth',
};

const NUMBER = /^([n-]?)([0-9]*)(?:[d.]([0-9]+))?$/;
const LEADING_ZEROS = /^0+(?=.)/;

/** A number as it was written: `-` or nothing, digits, and those behind the point. */
interface WrittenNumber {
  readonly isNegative: boolean;
  readonly whole: string;
  readonly fraction: string;
}

/** Parses `[n]<digits>[d<digits>]` or `[n]d<digits>`, as `units` does, at most 63 octets; null outside the grammar. */
function parseNumber(label: string): WrittenNumber | null {
  const match = label.length > DIGITS_MAX ? null : NUMBER.exec(label);
  if (match === null) return null;
  const [, sign = '', written = '', fraction = ''] = match;
  if (written + fraction === '') return null;
  const whole = written === '' ? '0' : written.replace(LEADING_ZEROS, '');
  return { isNegative: sign !== '' && /[1-9]/.test(whole + fraction), whole, fraction };
}

/** English words, as in the United States: no `and`, digits one by one behind the point. */
function numberWords({ isNegative, whole, fraction }: WrittenNumber): string {
  const sign = isNegative ? 'minus ' : '';
  const digits = Array.from(fraction, (digit) => BELOW_TWENTY[Number(digit)]);
  return sign + wholeWords(whole) + (digits.length === 0 ? '' : ` point ${digits.join(' ')}`);
}

/** `forty-second` of a whole number; undefined for another. */
function ordinalWords({ isNegative, whole, fraction }: WrittenNumber): string | undefined {
  if (fraction !== '' || isNegative) return undefined;
  return wholeWords(whole).replace(/[a-z]+$/, (last) => ORDINALS[last] ?? `${last.replace(/y$/, 'ie')}th`);
}

/** @param digits without leading zeros, at most 63 */
function wholeWords(digits: string): string {
  if (digits === '0') return BELOW_TWENTY[0];
  const words: string[] = [];
  for (let group = Math.ceil(digits.length / 3) - 1; group >= 0; group--) {
    const end = digits.length - 3 * group;
    const value = Number(digits.slice(Math.max(0, end - 3), end));
    if (value > 0) words.push(belowThousand(value), SCALES[group]!);
  }
  return words.filter((word) => word !== '').join(' ');
}

/** @param value 1 to 999 */
function belowThousand(value: number): string {
  const hundreds = Math.floor(value / 100);
  const rest = value % 100;
  const words = hundreds === 0 ? [] : [`${BELOW_TWENTY[hundreds]} hundred`];
  if (rest > 0) words.push(belowHundred(rest));
  return words.join(' ');
}

function belowHundred(value: number): string {
  if (value < 20) return BELOW_TWENTY[value]!;
  const ten = TENS[Math.floor(value / 10)]!;
  return value % 10 === 0 ? ten : `${ten}-${BELOW_TWENTY[value % 10]}`;
}

export const WORDS_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'words',
    title: 'Number in words',
    description:
      'A number in English words, short scale, up to the length of a label. In the name n is the minus sign and d the decimal point. The answer never changes: it has no ts.',
    properties: {
      val: {
        type: 'string',
        description: 'The number asked for',
        example: '2042',
        pattern: '^-?\\d+(\\.\\d+)?$',
      },
      words: { type: 'string', description: 'In words', example: 'two thousand forty-two' },
      ord: {
        type: 'string',
        description: 'The ordinal, of whole numbers from 0 on',
        example: 'two thousand forty-second',
      },
    },
    optional: ['ord'],
  }),
  template: 'get.{number}.words.public.v1',
  placeholders: { number: { type: 'string', examples: ['2042', 'n40', '3d14', 'd5'] } },
  examples: ['get.2042.words.public.v1', 'get.n40.words.public.v1', 'get.3d14.words.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;val=2042;words=two thousand forty-two;ord=two thousand forty-second',
  ttl: 86_400,
  errors: [],
};

/** `get.<number>.words.public.v1`, a number as in `units` */
export function makeWords(): Service {
  return {
    resource: 'words',
    operation: 'get',
    enabled: true,
    about: WORDS_ABOUT,
    answer(params) {
      const [label] = params;
      if (label === undefined) return malformedAnswer('parameter');
      const number = params.length > 1 ? null : parseNumber(label.toLowerCase());
      if (number === null) return malformedAnswer('value');
      const { isNegative, whole, fraction } = number;
      const fields = {
        val: `${isNegative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`,
        words: numberWords(number),
        ord: ordinalWords(number),
      };
      return constant(fields, WORDS_ABOUT.ttl);
    },
  };
}
