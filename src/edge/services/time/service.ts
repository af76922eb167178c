import type { Outcome } from '../../../core/query/outcome.ts';
import { malformed, momentary, notFound } from '../answers.ts';
import { secondText, weekday } from '../days.ts';
import { isLocationFault, locationFault, type Places, parseLocation, placeText } from '../places/place.ts';
import type { Service } from '../service.ts';
import { nextChange, offsetAt } from './clock.ts';
import { TIME_ABOUT } from './schema.ts';
import { isAbbreviation, zoneOfLabel } from './zones.ts';

/** `get.<city or zone>.time.public.v1` */
export function makeTime(places: Places): Service {
  return {
    resource: 'time',
    operation: 'get',
    enabled: true,
    about: TIME_ABOUT,
    answer(params, now) {
      const zone = params.length === 1 ? zoneOfLabel(params[0]!) : null;
      if (zone !== null) return timeIn(zone, undefined, now);
      if (params.length === 1 && isAbbreviation(params[0]!)) return notFound(now);
      const place = parseLocation(params, places);
      if (isLocationFault(place)) return locationFault(place, now);
      // The table has the zones of its places, and no borders: it does not know the zone of coordinates.
      if (place.name === null) return malformed('place');
      return place.zone === undefined ? notFound(now) : timeIn(place.zone, placeText(place), now);
    },
  };
}

function timeIn(zone: string, loc: string | undefined, now: number): Outcome {
  const offset = offsetAt(zone, now);
  const local = Math.floor(now / 1000) * 1000 + offset * 1000;
  const change = nextChange(zone, now);
  const fields = {
    loc,
    zone,
    iso: `${new Date(local).toISOString().slice(0, 19)}${offsetText(offset)}`,
    day: weekday(local),
    off: offset,
    chg: secondText(change?.at),
    chgoff: change?.offset,
  };
  return momentary(fields, now);
}

/** `+05:45`, as ISO 8601 has it. @param seconds east of UTC; of offsets that are in use all are whole minutes */
function offsetText(seconds: number): string {
  const minutes = Math.abs(Math.round(seconds / 60));
  const text = (value: number): string => String(value).padStart(2, '0');
  return `${seconds < 0 ? '-' : '+'}${text(Math.floor(minutes / 60))}:${text(minutes % 60)}`;
}
