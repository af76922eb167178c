import { constant, malformed } from '../answers.ts';
import { rounded } from '../flat.ts';
import { isLocationFault, locationFault, type Places, parseLocation, placeText } from '../places/place.ts';
import type { Service } from '../service.ts';
import { bearing, distanceKm, EARTH_KM } from './great-circle.ts';
import { AERIAL_ABOUT } from './schema.ts';

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
      if (params.length < 2) return malformed('parameter');
      if (params.length > 2) return malformed('value');
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
