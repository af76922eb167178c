import { rounded } from '../flat.ts';
import type { Place } from '../places/place.ts';

/** The forecast of one day; the date is that of the place. */
export interface Day {
  /** `YYYY-MM-DD`. */
  readonly date: string;
  /** Degrees Celsius, highest and lowest. */
  readonly high: number;
  readonly low: number;
  /** Weather code of WMO table 4677, 0 to 99. */
  readonly code: number;
  /** Chance of rain, percent; null where the source does not tell. */
  readonly rain: number | null;
}

/** The weather of a grid cell: what `weather` and `forecast` answer from. */
export interface Meteo {
  /** Degrees Celsius, now. */
  readonly celsius: number;
  /** `DAYS` of them, today first. */
  readonly days: readonly Day[];
}

/** Days of a forecast. */
export const DAYS = 3;

/** Air temperatures outside these, degrees Celsius, have never been measured: a fault of the source. */
export const CELSIUS_MIN = -100;
export const CELSIUS_MAX = 70;

/** Cells a degree. */
const GRID = 10;

/** Middle of a grid cell, degrees. */
export interface Cell {
  readonly lat: number;
  readonly lon: number;
}

/** The key of the 0.1 degree grid cell that a place lies in: `407_-740`. */
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

/** Degrees Fahrenheit, to the tenth. */
export function fahrenheit(celsius: number): number {
  return rounded((celsius * 9) / 5 + 32, 1);
}
