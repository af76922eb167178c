export const DICE_MAX = 100;
export const SIDES_MAX = 1000;
export const PLUS_MAX = 1000;

/** Dice of equal sides, and a number that is added to their sum. */
export interface Formula {
  /** 1 to `DICE_MAX`. */
  readonly count: number;
  /** 2 to `SIDES_MAX`. */
  readonly sides: number;
  /** -`PLUS_MAX` to `PLUS_MAX`. */
  readonly plus: number;
}

const FORMULA = /^([1-9][0-9]{0,2})?d([1-9][0-9]{0,3})(?:([pn+-])(0|[1-9][0-9]{0,3}))?$/;

/** Parses `2d6p1` or `d20n2`: `p` is plus and `n` minus. A hyphen is minus too, and a `b32-` label may hold `+`. */
export function parseFormula(label: string): Formula | null {
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
export function formulaText({ count, sides, plus }: Formula): string {
  const added = plus === 0 ? '' : `${plus > 0 ? '+' : ''}${plus}`;
  return `${count}d${sides}${added}`;
}
