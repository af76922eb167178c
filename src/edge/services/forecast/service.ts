import { type FlatFields, type FlatValue, rounded } from '../flat.ts';
import {
  isLocationFault,
  locationFault,
  type Place,
  type Places,
  parseLocation,
  placeText,
} from '../places/place.ts';
import { after, outcomeOf } from '../providers/outcome.ts';
import type { Providers } from '../providers/worker/worker-providers.ts';
import type { Service } from '../service.ts';
import { conditionOf } from '../weather/conditions.ts';
import { cellKey, fahrenheit, type Meteo } from '../weather/meteo.ts';
import { FORECAST_ABOUT } from './schema.ts';

/** Three days at a place. Uses the feed of `weather`, so one provider call serves both. */
export function makeForecast(places: Places, providers: Providers): Service {
  return {
    resource: 'forecast',
    operation: 'get',
    enabled: providers.has('meteo'),
    about: FORECAST_ABOUT,
    answer(params, now) {
      const place = parseLocation(params, places);
      if (isLocationFault(place)) return locationFault(place, now);
      return after(providers.ask('meteo', cellKey(place), now), (reading) =>
        outcomeOf(reading, now, FORECAST_ABOUT.ttl, (meteo) => fieldsOf(place, meteo)),
      );
    },
  };
}

function fieldsOf(place: Place, { days }: Meteo): FlatFields {
  const fields: Record<string, FlatValue> = { loc: placeText(place), n: days.length };
  for (const [i, { date, high, low, code, rain }] of days.entries()) {
    fields[`d${i}`] = date;
    fields[`hc${i}`] = rounded(high, 1);
    fields[`lc${i}`] = rounded(low, 1);
    fields[`hf${i}`] = fahrenheit(high);
    fields[`lf${i}`] = fahrenheit(low);
    fields[`wc${i}`] = code;
    fields[`wx${i}`] = conditionOf(code);
    fields[`pp${i}`] = rain ?? undefined;
  }
  return fields;
}
