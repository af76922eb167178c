import { flatEnvelope, rounded } from './answers.ts';
import { isLocationFault, locationFault, type Places, parseLocation } from './places/place.ts';
import { after, outcomeOf, providedService } from './providers/outcome.ts';
import type { Providers } from './providers/worker.ts';
import { type Service, type ServiceDescription, type ServiceError, serviceSchema } from './service.ts';
import { cellKey, fahrenheit } from './weather-sources.ts';

export const METEO_CREDITS: readonly string[] = [
  'Open-Meteo.com, CC BY 4.0',
  'MET Norway, CC BY 4.0',
  'places GeoNames, CC BY 4.0',
];

export const LOCATION_PLACEHOLDER = {
  location: {
    type: 'city or <lat>_<lon>, d for the decimal point',
    examples: ['london', 'paris-us', '40d71_-74d01'],
  },
} as const;

export const METEO_ERRORS: readonly ServiceError[] = [
  { code: 'E004', description: 'City not found' },
  { code: 'E009', description: 'Providers unavailable, nothing kept; SERVFAIL' },
  { code: 'E010', description: 'No provider budget left', retryAfter: 60 },
  { code: 'E011', description: 'Still being fetched, ask again' },
];

const WEATHER_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'weather',
    title: 'Current weather',
    description: 'Air temperature at a city or coordinates, of a 0.1 degree grid cell.',
    attribution: METEO_CREDITS,
    properties: {
      tc: { type: 'number', description: 'Temperature, degrees Celsius', example: 18.4 },
      tf: { type: 'number', description: 'Temperature, degrees Fahrenheit', example: 65.1 },
    },
  }),
  template: 'get.{location}.weather.public.v1',
  placeholders: LOCATION_PLACEHOLDER,
  examples: ['get.london.weather.public.v1', 'get.40d71_-74d01.weather.public.v1'],
  exampleResponse: flatEnvelope({ tc: 18.4, tf: 65.1, ts: 1_767_225_600 }).toString('latin1'),
  ttl: 600,
  errors: METEO_ERRORS,
};

/** The temperature at a place, of its grid cell and the present ten minutes. */
export function makeWeather(places: Places, providers: Providers): Service {
  return providedService({
    resource: 'weather',
    operation: 'get',
    enabled: providers.has('meteo'),
    about: WEATHER_ABOUT,
    plan(params, now) {
      const place = parseLocation(params, places);
      if (isLocationFault(place)) return locationFault(place, now);
      return () =>
        after(providers.ask('meteo', cellKey(place), now), (reading) =>
          outcomeOf(reading, now, WEATHER_ABOUT.ttl, ({ celsius }) => ({
            tc: rounded(celsius, 1),
            tf: fahrenheit(celsius),
          })),
        );
    },
  });
}
