import type { Place } from '../places/place.ts';

type Point = Pick<Place, 'lat' | 'lon'>;

/** Mean radius of the earth in kilometres (IUGG). On this sphere distances are within 0.6 % of those on the ellipsoid. */
export const EARTH_KM = 6371.0088;
const RADIANS = Math.PI / 180;

/** Kilometres along a great circle. The haversine formula is exact for near points, and the root for opposite ones. */
export function distanceKm(from: Point, to: Point): number {
  const dLat = (to.lat - from.lat) * RADIANS;
  const dLon = (to.lon - from.lon) * RADIANS;
  const h =
    Math.sin(dLat / 2) ** 2 +
    Math.cos(from.lat * RADIANS) * Math.cos(to.lat * RADIANS) * Math.sin(dLon / 2) ** 2;
  return 2 * EARTH_KM * Math.atan2(Math.sqrt(h), Math.sqrt(Math.max(0, 1 - h)));
}

/** Degrees clockwise from north, 0 to 360, in which the way begins. */
export function bearing(from: Point, to: Point): number {
  const dLon = (to.lon - from.lon) * RADIANS;
  const [a, b] = [from.lat * RADIANS, to.lat * RADIANS];
  const east = Math.sin(dLon) * Math.cos(b);
  const north = Math.cos(a) * Math.sin(b) - Math.sin(a) * Math.cos(b) * Math.cos(dLon);
  return (Math.atan2(east, north) / RADIANS + 360) % 360;
}
