import { type FlatFields, type FlatValue, flatEnvelope, rounded } from './flat.ts';
import {
  isLocationFault,
  locationFault,
  type Place,
  type Places,
  parseLocation,
  placeText,
} from './places/place.ts';
import { after, outcomeOf } from './providers/outcome.ts';
import type { Providers } from './providers/worker/worker-providers.ts';
import { type FieldSchema, serviceSchema } from './schema.ts';
import type { Service, ServiceDescription } from './service.ts';
import { conditionOf } from './weather/conditions.ts';
import { cellKey, DAYS, fahrenheit, type Meteo } from './weather/meteo.ts';
import { LOCATION_PLACEHOLDER, METEO_CREDITS, METEO_ERRORS } from './weather/schema.ts';

const EXAMPLE_DATES = ['2026-01-01', '2026-01-02', '2026-01-03'] as const;

/** The fields of the `i`th day, in their order. */
function dayFields(i: number): readonly [string, FieldSchema][] {
  return [
    [
      `d${i}`,
      { type: 'string', description: 'Date there; of UTC from MET Norway', example: EXAMPLE_DATES[i] ?? '' },
    ],
    [`hc${i}`, { type: 'number', description: 'High, Celsius', example: 7.2 }],
    [`lc${i}`, { type: 'number', description: 'Low, Celsius', example: 2.1 }],
    [`hf${i}`, { type: 'number', description: 'High, Fahrenheit', example: 45 }],
    [`lf${i}`, { type: 'number', description: 'Low, Fahrenheit', example: 35.8 }],
    [`wc${i}`, { type: 'integer', description: 'WMO weather code', example: 61, minimum: 0, maximum: 99 }],
    [`wx${i}`, { type: 'string', description: 'The code in words', example: 'light rain' }],
    [
      `pp${i}`,
      {
        type: 'integer',
        description: 'Chance of rain, %; not from MET Norway',
        example: 80,
        minimum: 0,
        maximum: 100,
      },
    ],
  ];
}

const days = Array.from({ length: DAYS }, (_, i) => i);

const FORECAST_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'forecast',
    title: 'Weather forecast',
    description: 'Today and the two days after at a city or coordinates, of a 0.1 degree grid cell.',
    attribution: METEO_CREDITS,
    properties: {
      loc: { type: 'string', description: 'Place found, or the coordinates', example: 'London, GB' },
      n: { type: 'integer', description: 'Number of days', example: DAYS },
      ...Object.fromEntries(days.flatMap(dayFields)),
    },
    optional: days.map((i) => `pp${i}`),
  }),
  template: 'get.{location}.forecast.public.v1',
  placeholders: LOCATION_PLACEHOLDER,
  examples: ['get.london.forecast.public.v1', 'get.40d71_-74d01.forecast.public.v1'],
  exampleResponse: flatEnvelope({
    loc: 'London, GB',
    n: DAYS,
    ...Object.fromEntries(days.flatMap(dayFields).map(([name, { example }]) => [name, example])),
    ts: 1_767_225_600,
  }).toString('latin1'),
  ttl: 600,
  errors: METEO_ERRORS,
};

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
