import { rounded } from '../flat.ts';
import { isLocationFault, locationFault, type Places, parseLocation } from '../places/place.ts';
import { after, outcomeOf } from '../providers/outcome.ts';
import type { Providers } from '../providers/worker/worker-providers.ts';
import type { Service } from '../service.ts';
import { cellKey, fahrenheit } from './meteo.ts';
import { WEATHER_ABOUT } from './schema.ts';

/** The temperature at a place, of its grid cell and the present ten minutes. */
export function makeWeather(places: Places, providers: Providers): Service {
  return {
    resource: 'weather',
    operation: 'get',
    enabled: providers.has('meteo'),
    about: WEATHER_ABOUT,
    answer(params, now) {
      const place = parseLocation(params, places);
      if (isLocationFault(place)) return locationFault(place, now);
      return after(providers.ask('meteo', cellKey(place), now), (reading) =>
        outcomeOf(reading, now, WEATHER_ABOUT.ttl, ({ celsius }) => ({
          tc: rounded(celsius, 1),
          tf: fahrenheit(celsius),
        })),
      );
    },
  };
}
