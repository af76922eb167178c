import type { EnvelopeErrorCode } from '../errors.ts';

/**
 * Why a query was not understood, and what its extended error says. The table is closed and its texts
 * are static: none repeats a part of the question.
 */
export const MALFORMED_TEXTS = {
  operation: 'unknown operation',
  label: 'label not allowed',
  version: 'version not understood',
  unit: 'unknown unit',
  units: 'units of different kinds',
  value: 'value not understood',
  place: 'place not understood',
  date: 'date not understood',
  address: 'address not understood',
  parameter: 'missing parameter',
  ticker: 'ticker or exchange not understood',
  'item-key': 'item key not understood',
  'as-of': 'as-of not understood',
} as const;

export type MalformedCause = keyof typeof MALFORMED_TEXTS;

const BY_CODE: Partial<Readonly<Record<EnvelopeErrorCode, MalformedCause>>> = {
  E001: 'label',
  E002: 'operation',
  E003: 'version',
};

/** The cause that a code alone stands for: what is wrong with the name is in the code, all else is a value. */
export function causeOfCode(code: EnvelopeErrorCode): MalformedCause {
  return BY_CODE[code] ?? 'value';
}
