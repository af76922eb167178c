import { constant, malformed } from '../answers.ts';
import type { Service } from '../service.ts';
import { parseExpression } from './convert.ts';
import { decimalText, linearText } from './exact.ts';
import { UNITS_ABOUT } from './schema.ts';

export function makeUnits(): Service {
  return {
    resource: 'units',
    operation: 'get',
    enabled: true,
    about: UNITS_ABOUT,
    answer(params) {
      const [text] = params;
      if (text === undefined) return malformed('parameter');
      const expression = params.length > 1 ? 'value' : parseExpression(text.toLowerCase());
      if (typeof expression === 'string') return malformed(expression);
      const { value, conversion } = expression;
      const fields = {
        val: decimalText(value),
        from: conversion.from.slug,
        to: conversion.to.slug,
        res: linearText(value, conversion),
        cat: conversion.from.category,
      };
      return constant(fields, UNITS_ABOUT.ttl);
    },
  };
}
