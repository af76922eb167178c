import { constant, malformedAnswer } from './answers.ts';
import { type FieldSchema, type Service, type ServiceDescription, serviceSchema } from './service.ts';

const BASE_MIN = 2;
const BASE_MAX = 36;
/** A label has no more octets; what a `b32-` or `hex-` label holds is shorter. */
const EXPRESSION_MAX = 63;
const DECIMAL = 10;

const NAMED_BASES: ReadonlyMap<string, number> = new Map([
  ['bin', 2],
  ['oct', 8],
  ['dec', DECIMAL],
  ['hex', 16],
]);
const EXPRESSION = /^([n-]?)([0-9a-z]+?)(?:-([0-9a-z]{1,3}))?-to-([0-9a-z]{1,3})$/;
const BASE = /^[1-9][0-9]?$/;
/** From this base on `n` is a digit (23), and not the minus sign. */
const N_IS_A_DIGIT = 24;

interface BaseChange {
  readonly value: bigint;
  readonly from: number;
  readonly to: number;
}

/** `value`: the grammar, or a digit that the base has not; `base`: not 2 to 36. */
type BaseFault = 'value' | 'base';

/** Parses `<digits>[-<base>]-to-<base>`, in lower case; bases are numbers or `bin`, `oct`, `dec`, `hex`. */
function parseBaseChange(text: string): BaseChange | BaseFault {
  const match = text.length > EXPRESSION_MAX ? null : EXPRESSION.exec(text);
  if (match === null) return 'value';
  const [, sign = '', digits = '', fromText = 'dec', toText = ''] = match;
  const from = parseBase(fromText);
  const to = parseBase(toText);
  if (from === null || to === null) return 'base';
  const isDigit = sign === 'n' && from >= N_IS_A_DIGIT;
  const size = parseDigits(isDigit ? sign + digits : digits, from);
  if (size === null) return 'value';
  return { value: sign === '' || isDigit ? size : -size, from, to };
}

function parseBase(text: string): number | null {
  const named = NAMED_BASES.get(text);
  if (named !== undefined) return named;
  const base = BASE.test(text) ? Number(text) : 0;
  return base >= BASE_MIN && base <= BASE_MAX ? base : null;
}

function parseDigits(text: string, base: number): bigint | null {
  let value = 0n;
  for (const letter of text) {
    const digit = Number.parseInt(letter, BASE_MAX);
    if (digit >= base) return null;
    value = value * BigInt(base) + BigInt(digit);
  }
  return value;
}

const DIGITS = '^-?[0-9a-z]+$';

function base(description: string, example: number): FieldSchema {
  return { type: 'integer', description, example, minimum: BASE_MIN, maximum: BASE_MAX };
}

export const BASE_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'base',
    title: 'Number in another base',
    description:
      'A whole number in another base of 2 to 36; bin, oct, dec and hex are names of bases. Without its base the number is decimal. A leading n is the minus sign, up to base 23. The answer never changes: it has no ts.',
    properties: {
      val: { type: 'string', description: 'The number asked for', example: '255', pattern: DIGITS },
      from: base('Its base', 10),
      to: base('The base asked for', 16),
      res: { type: 'string', description: 'The number in that base', example: 'ff', pattern: DIGITS },
    },
  }),
  template: 'get.{number}-{from}-to-{to}.base.public.v1',
  placeholders: {
    number: { type: 'string', examples: ['255', 'ff', 'n40', 'zz'] },
    from: { type: 'base, may be left out with its hyphen', examples: ['16', 'hex', '36'] },
    to: { type: 'base', examples: ['2', 'bin', '10'] },
  },
  examples: [
    'get.255-to-hex.base.public.v1',
    'get.ff-hex-to-bin.base.public.v1',
    'get.n40-10-to-7.base.public.v1',
  ],
  exampleResponse: 'v=svc1;s=ok;t=data;val=255;from=10;to=16;res=ff',
  ttl: 86_400,
  errors: [],
};

/** `get.<digits>[-<base>]-to-<base>.base.public.v1` */
export function makeBase(): Service {
  return {
    resource: 'base',
    operation: 'get',
    enabled: true,
    about: BASE_ABOUT,
    answer(params) {
      const [text] = params;
      if (text === undefined) return malformedAnswer('parameter');
      const change = params.length > 1 ? 'value' : parseBaseChange(text.toLowerCase());
      if (typeof change === 'string') return malformedAnswer(change);
      const { value, from, to } = change;
      return constant({ val: value.toString(from), from, to, res: value.toString(to) }, BASE_ABOUT.ttl);
    },
  };
}
