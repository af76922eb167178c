import { draw, malformedAnswer, momentary } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const DICE_MAX = 100;
const SIDES_MAX = 1000;
const PLUS_MAX = 1000;

/** Dice of equal sides, and a number that is added to their sum. */
interface Formula {
  /** 1 to `DICE_MAX`. */
  readonly count: number;
  /** 2 to `SIDES_MAX`. */
  readonly sides: number;
  /** -`PLUS_MAX` to `PLUS_MAX`. */
  readonly plus: number;
}

const FORMULA = /^([1-9][0-9]{0,2})?d([1-9][0-9]{0,3})(?:([pn+-])(0|[1-9][0-9]{0,3}))?$/;

/** Parses `2d6p1` or `d20n2`: `p` is plus and `n` minus. A hyphen is minus too, and a `b32-` label may hold `+`. */
function parseFormula(label: string): Formula | null {
  const match = FORMULA.exec(label);
  if (match === null) return null;
  const [, countText = '1', sidesText, sign = 'p', plusText = '0'] = match;
  const count = Number(countText);
  const sides = Number(sidesText);
  const size = Number(plusText);
  if (count > DICE_MAX || sides < 2 || sides > SIDES_MAX || size > PLUS_MAX) return null;
  return { count, sides, plus: sign === 'p' || sign === '+' || size === 0 ? size : -size };
}

/** `2d6+1` */
function formulaText({ count, sides, plus }: Formula): string {
  const added = plus === 0 ? '' : `${plus > 0 ? '+' : ''}${plus}`;
  return `${count}d${sides}${added}`;
}

const DICE_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'dice',
    title: 'Dice',
    description: `Rolls up to ${DICE_MAX} dice of 2 to ${SIDES_MAX} sides; p or n adds or subtracts up to ${PLUS_MAX}: 2d6p1 is 2d6+1. A new roll for each query, TTL 0.`,
    properties: {
      dice: {
        type: 'string',
        description: 'What was rolled',
        example: '2d6+1',
        pattern: '^\\d+d\\d+([+-]\\d+)?$',
      },
      rolls: {
        type: 'string',
        description: 'Each die, spaces between',
        example: '3 5',
        pattern: '^\\d+( \\d+)*$',
      },
      sum: { type: 'integer', description: 'Their sum, with what is added', example: 9 },
    },
  }),
  template: 'get.{dice}.dice.public.v1',
  placeholders: { dice: { type: 'string', examples: ['2d6p1', 'd20', '4d6n2'] } },
  examples: ['get.2d6p1.dice.public.v1', 'get.d20.dice.public.v1', 'get.4d6n2.dice.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;dice=2d6+1;rolls=3 5;sum=9;ts=1767225600',
  ttl: 0,
  errors: [],
};

/** `get.[<count>]d<sides>[p<plus>|n<minus>].dice.public.v1` */
export function makeDice(): Service {
  return {
    resource: 'dice',
    operation: 'get',
    enabled: true,
    about: DICE_ABOUT,
    answer(params, now) {
      const [label] = params;
      if (label === undefined) return malformedAnswer('parameter');
      const formula = params.length > 1 ? null : parseFormula(label.toLowerCase());
      if (formula === null) return malformedAnswer('value');
      const { count, sides, plus } = formula;
      const rolls = Array.from({ length: count }, () => draw(1, sides));
      const sum = rolls.reduce((total, roll) => total + roll, plus);
      return momentary({ dice: formulaText(formula), rolls: rolls.join(' '), sum }, now);
    },
  };
}
