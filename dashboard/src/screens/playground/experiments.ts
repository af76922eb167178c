/** Ten guided experiments. Each is a question; its text says what to look at. */
import type { Asked } from './asked.ts';

export const EXPERIMENT_IDS = [
  'units',
  'case',
  'truncation',
  'version',
  'private',
  'expired',
  'info',
  'sun',
  'signatures',
  'negative',
] as const;

export type ExperimentId = (typeof EXPERIMENT_IDS)[number];

type Question = Pick<Asked, 'name' | 'type'>;

const UNITS = 'get.5-km-to-mi.units.public.v1';

/** @param random 0 to 1, for the case of letters */
export function questionOf(id: ExperimentId, zone: string, random: () => number = Math.random): Question {
  const at = (name: string, type = 'TXT'): Question => ({ name: `${name}.${zone}`, type });
  switch (id) {
    case 'units':
      return at(UNITS);
    case 'case':
      return at0x20(`${UNITS}.${zone}`, random);
    case 'truncation':
      return at('info.forecast.public.v1');
    case 'version':
      return at('get.5-km-to-mi.units.public.v01');
    case 'private':
      return at('get.config.somebody.v1');
    case 'expired':
      return at('get.gone.playground.v1');
    case 'info':
      return at('info.units.public.v1');
    case 'sun':
      return at('get.2026-12-21.69d65_18d96.sun.public.v1');
    case 'signatures':
      return { name: zone, type: 'DNSKEY' };
    case 'negative':
      return at('no-such-name');
  }
}

/** Some resolvers send letters in random case and compare the reply, so that a forged one is noticed. */
function at0x20(name: string, random: () => number): Question {
  return {
    name: name.replace(/[a-z]/g, (letter) => (random() < 0.5 ? letter : letter.toUpperCase())),
    type: 'TXT',
  };
}
