import { answered, MALFORMED } from '../answers.ts';
import { significant } from '../flat.ts';
import type { Service } from '../service.ts';
import { convert, parseExpression } from './convert.ts';
import { UNITS_ABOUT } from './schema.ts';

/** Digits of a number in an answer (decisions, section 7). */
const DIGITS = 12;

export function makeUnits(): Service {
  return {
    resource: 'units',
    operation: 'get',
    enabled: true,
    about: UNITS_ABOUT,
    answer(params, now) {
      const [text] = params;
      if (text === undefined || params.length > 1) return MALFORMED;
      const expression = parseExpression(text.toLowerCase());
      if (expression === null) return MALFORMED;
      const { value, conversion } = expression;
      const result = convert(value, conversion);
      if (result === null) return MALFORMED;
      const fields = {
        val: significant(value, DIGITS),
        from: conversion.from.slug,
        to: conversion.to.slug,
        res: significant(result, DIGITS),
        cat: conversion.from.category,
      };
      return answered(fields, { ttl: UNITS_ABOUT.ttl, now });
    },
  };
}
