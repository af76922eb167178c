import { malformed } from '../answers.ts';
import { answeredForDay, type Day, dateText, dayOf, parseDate, secondText } from '../days.ts';
import { isLocationFault, locationFault, type Places, parseLocation, placeText } from '../places/place.ts';
import type { Service } from '../service.ts';
import { sunDay } from './day.ts';
import { SUN_ABOUT } from './schema.ts';

/** `get.[<YYYY-MM-DD>.]<location>.sun.public.v1` */
export function makeSun(places: Places): Service {
  return {
    resource: 'sun',
    operation: 'get',
    enabled: true,
    about: SUN_ABOUT,
    answer(params, now) {
      const day = params.length === 2 ? namedDay(params[0]!) : dayOf(now);
      const place = parseLocation(params.slice(-1), places);
      if (params.length > 2) return malformed('value');
      if (day === null) return malformed('date');
      if (isLocationFault(place)) return locationFault(place, now);
      const { rise, set, noon, dawn, dusk, length, state } = sunDay(place.lat, place.lon, day.start);
      const fields = {
        loc: placeText(place),
        date: dateText(day.start),
        rise: secondText(rise),
        set: secondText(set),
        noon: secondText(noon),
        dawn: secondText(dawn),
        dusk: secondText(dusk),
        len: length,
        state,
      };
      return answeredForDay(fields, day, now);
    },
  };
}

function namedDay(text: string): Day | null {
  const start = parseDate(text);
  return start === null ? null : { start, isToday: false };
}
