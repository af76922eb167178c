import { malformed, momentary } from '../answers.ts';
import { draw } from '../chance.ts';
import type { Service } from '../service.ts';
import { formulaText, parseFormula } from './formula.ts';
import { DICE_ABOUT } from './schema.ts';

/** `get.[<count>]d<sides>[p<plus>|n<minus>].dice.public.v1` */
export function makeDice(): Service {
  return {
    resource: 'dice',
    operation: 'get',
    enabled: true,
    about: DICE_ABOUT,
    answer(params, now) {
      const [label] = params;
      if (label === undefined) return malformed('parameter');
      const formula = params.length > 1 ? null : parseFormula(label.toLowerCase());
      if (formula === null) return malformed('value');
      const { count, sides, plus } = formula;
      const rolls = Array.from({ length: count }, () => draw(1, sides));
      const sum = rolls.reduce((total, roll) => total + roll, plus);
      return momentary({ dice: formulaText(formula), rolls: rolls.join(' '), sum }, now);
    },
  };
}
