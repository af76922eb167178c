import type { EnvelopeErrorCode } from './envelope.ts';

/** Extended error texts of malformed queries. They are fixed: none repeats a part of the question. */
export const MALFORMED_TEXTS = {
  operation: 'unknown operation',
  label: 'label not allowed',
  version: 'version not understood',
  unit: 'unknown unit, see info.units.public.v1',
  units: 'units of different kinds',
  value: 'value not understood',
  base: 'base is not 2 to 36',
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

/** Codes for values have the cause `value`. */
export function causeOfCode(code: EnvelopeErrorCode): MalformedCause {
  return BY_CODE[code] ?? 'value';
}
