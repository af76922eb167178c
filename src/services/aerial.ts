import { constant, malformedAnswer, rounded } from './answers.ts';
import {
  isLocationFault,
  locationFault,
  PLACES_CREDIT,
  type Place,
  type Places,
  parseLocation,
  placeText,
} from './places/place.ts';
import { type FieldSchema, type Service, type ServiceDescription, serviceSchema } from './service.ts';

function distance(description: string, example: number): FieldSchema {
  return { type: 'number', description, example, minimum: 0 };
}

export const AERIAL_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'aerial',
    title: 'Distance',
    description:
      'Great-circle distance between two cities or coordinates, on a sphere of 6371.0088 km: within 0.6 % of the ellipsoid. It has no ts.',
    attribution: [PLACES_CREDIT],
    properties: {
      from: { type: 'string', description: 'Where it begins', example: 'London, GB' },
      to: { type: 'string', description: 'Where it ends', example: 'Tokyo, JP' },
      km: distance('Kilometres', 9558.5),
      mi: distance('Miles', 5939.4),
      nmi: distance('Nautical miles', 5161.2),
      brg: {
        type: 'integer',
        description: 'Direction at the beginning, degrees from north; not of equal or opposite points',
        example: 32,
        minimum: 0,
        maximum: 359,
      },
    },
    optional: ['brg'],
  }),
  template: 'get.{from}.{to}.aerial.public.v1',
  placeholders: {
    from: { type: 'city or <lat>_<lon>, d for the decimal point', examples: ['london', '40d71_-74d01'] },
    to: { type: 'city or <lat>_<lon>, d for the decimal point', examples: ['tokyo', '-33d87_151d21'] },
  },
  examples: ['get.london.tokyo.aerial.public.v1', 'get.40d71_-74d01.-33d87_151d21.aerial.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;from=London, GB;to=Tokyo, JP;km=9558.5;mi=5939.4;nmi=5161.2;brg=32',
  ttl: 86_400,
  errors: [{ code: 'E004', description: 'No such city' }],
};

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

const KM_PER_MILE = 1.609344;
const KM_PER_NAUTICAL_MILE = 1.852;
/** Of the same or of opposite points no direction is the shortest. */
const NO_BEARING_KM = 0.01;

/** `get.<location>.<location>.aerial.public.v1` */
export function makeAerial(places: Places): Service {
  return {
    resource: 'aerial',
    operation: 'get',
    enabled: true,
    about: AERIAL_ABOUT,
    answer(params, now) {
      if (params.length < 2) return malformedAnswer('parameter');
      if (params.length > 2) return malformedAnswer('value');
      const from = parseLocation(params.slice(0, 1), places);
      const to = parseLocation(params.slice(1), places);
      // A label outside the grammar counts before a city that is not known.
      if (isLocationFault(from) && from !== 'unknown') return locationFault(from, now);
      if (isLocationFault(to)) return locationFault(to, now);
      if (isLocationFault(from)) return locationFault(from, now);
      const km = distanceKm(from, to);
      const isDirected = km > NO_BEARING_KM && km < Math.PI * EARTH_KM - NO_BEARING_KM;
      const fields = {
        from: placeText(from),
        to: placeText(to),
        km: rounded(km, 1),
        mi: rounded(km / KM_PER_MILE, 1),
        nmi: rounded(km / KM_PER_NAUTICAL_MILE, 1),
        brg: isDirected ? rounded(bearing(from, to), 0) % 360 : undefined,
      };
      return constant(fields, AERIAL_ABOUT.ttl);
    },
  };
}
