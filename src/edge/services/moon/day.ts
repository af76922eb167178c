import { Body, Illumination, MakeTime, MoonPhase, SearchMoonPhase } from 'astronomy-engine';
import { DAY_MS } from '../days.ts';

/** In order from new moon. Even indexes are instants, odd ones the time between. */
export const PHASES = [
  'new',
  'waxing-crescent',
  'first-quarter',
  'waxing-gibbous',
  'full',
  'waning-gibbous',
  'last-quarter',
  'waning-crescent',
] as const;
export type Phase = (typeof PHASES)[number];

export interface MoonDay {
  /** The principal phase whose instant is on this UTC date, as in almanacs; else the phase between. */
  readonly phase: Phase;
  /** Lit part of the disc at 12:00 UTC, percent. */
  readonly illumination: number;
  /** Days since the new moon, at 12:00 UTC. */
  readonly age: number;
}

const QUARTER = 90;
/** An upper bound for the time between new moons. */
const LUNATION_DAYS = 31;

/** `start`: the start of the date in UTC. */
export function moonDay(start: number): MoonDay {
  const midday = MakeTime(new Date(start + DAY_MS / 2));
  const before = Math.floor(MoonPhase(new Date(start)) / QUARTER);
  const after = Math.floor(MoonPhase(new Date(start + DAY_MS)) / QUARTER);
  // The moon gains 12 degrees on the sun per day, so it passes at most one quarter.
  const phase = before === after ? PHASES[2 * before + 1]! : PHASES[2 * after]!;
  const lastNew = SearchMoonPhase(0, midday, -LUNATION_DAYS)!;
  return {
    phase,
    illumination: Illumination(Body.Moon, midday).phase_fraction * 100,
    age: midday.ut - lastNew.ut,
  };
}
