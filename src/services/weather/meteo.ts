import { rounded } from '../flat.ts';
import type { Place } from '../places/place.ts';

/** One day, in the time zone of the place. */
export interface Day {
  readonly date: string;
  /** Degrees Celsius; `low` too. */
  readonly high: number;
  readonly low: number;
  /** Weather code of WMO table 4677, 0 to 99. */
  readonly code: number;
  /** Chance of rain, percent; null where the source does not report it. */
  readonly rain: number | null;
}

/** The weather of a grid cell, for `weather` and `forecast`. */
export interface Meteo {
  /** Degrees Celsius, now. */
  readonly celsius: number;
  /** `DAYS` of them, today first. */
  readonly days: readonly Day[];
}

export const DAYS = 3;

/** Degrees Celsius. Temperatures outside these bounds are faults of the source. */
export const CELSIUS_MIN = -100;
export const CELSIUS_MAX = 70;

/** Cells per degree. */
export const GRID = 10;

/** Centre of a grid cell, degrees. */
export interface Cell {
  readonly lat: number;
  readonly lon: number;
}

/** The key of the 0.1 degree grid cell of a place: `407_-740`. */
export function cellKey({ lat, lon }: Pick<Place, 'lat' | 'lon'>): string {
  const row = Math.round(lat * GRID);
  const column = Math.round(lon * GRID);
  // 180 degrees west and east are one meridian.
  return `${row}_${column === -180 * GRID ? 180 * GRID : column}`;
}

export function cellOf(key: string): Cell {
  const [row, column] = key.split('_');
  return { lat: Number(row) / GRID, lon: Number(column) / GRID };
}

/** Degrees Fahrenheit, rounded to 0.1. */
export function fahrenheit(celsius: number): number {
  return rounded((celsius * 9) / 5 + 32, 1);
}
