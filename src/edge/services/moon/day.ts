import { Body, Illumination, MakeTime, MoonPhase, SearchMoonPhase } from 'astronomy-engine';
import { DAY_MS } from '../days.ts';

/** In their order, new moon first: the even ones are instants, the odd ones the time between. */
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
  /** A principal phase on the date (UTC) on which its instant falls, as almanacs print it; else the one between. */
  readonly phase: Phase;
  /** Lit part of the disc at 12:00 UTC, percent. */
  readonly illumination: number;
  /** Days since the new moon, at 12:00 UTC. */
  readonly age: number;
}

const QUARTER = 90;
/** Longest time between new moons, and some. */
const LUNATION_DAYS = 31;

/** @param start the instant at which the date begins in UTC */
export function moonDay(start: number): MoonDay {
  const midday = MakeTime(new Date(start + DAY_MS / 2));
  const before = Math.floor(MoonPhase(new Date(start)) / QUARTER);
  const after = Math.floor(MoonPhase(new Date(start + DAY_MS)) / QUARTER);
  // The moon gains 12 degrees on the sun in a day, so it passes one quarter at most.
  const phase = before === after ? PHASES[2 * before + 1]! : PHASES[2 * after]!;
  const lastNew = SearchMoonPhase(0, midday, -LUNATION_DAYS)!;
  return {
    phase,
    illumination: Illumination(Body.Moon, midday).phase_fraction * 100,
    age: midday.ut - lastNew.ut,
  };
}
