import { type FlatFields, type FlatValue, flatEnvelope, rounded } from './answers.ts';
import {
  isLocationFault,
  locationFault,
  type Place,
  type Places,
  parseLocation,
  placeText,
} from './places/place.ts';
import { after, outcomeOf, providedService } from './providers/outcome.ts';
import type { Providers } from './providers/worker.ts';
import { type FieldSchema, type Service, type ServiceDescription, serviceSchema } from './service.ts';
import { LOCATION_PLACEHOLDER, METEO_CREDITS, METEO_ERRORS } from './weather.ts';
import { cellKey, DAYS, fahrenheit, type Meteo } from './weather-sources.ts';

/**
 * Weather codes of WMO table 4677 in words, each up to the code before the next one. Open-Meteo and `symbols.ts` use a part
 * of the table; the other codes get the words of their group.
 */
const CONDITIONS: readonly (readonly [from: number, words: string])[] = [
  [0, 'clear'],
  [1, 'mainly clear'],
  [2, 'partly cloudy'],
  [3, 'overcast'],
  [4, 'haze'],
  [10, 'mist'],
  [13, 'lightning'],
  [14, 'rain nearby'],
  [17, 'thunder'],
  [18, 'squalls'],
  [20, 'rain before'],
  [30, 'dust storm'],
  [36, 'drifting snow'],
  [40, 'fog'],
  [48, 'rime fog'],
  [50, 'light drizzle'],
  [53, 'drizzle'],
  [55, 'dense drizzle'],
  [56, 'light freezing drizzle'],
  [57, 'freezing drizzle'],
  [58, 'light rain'],
  [62, 'rain'],
  [64, 'heavy rain'],
  [66, 'light freezing rain'],
  [67, 'freezing rain'],
  [68, 'light sleet'],
  [69, 'sleet'],
  [70, 'light snow'],
  [72, 'snow'],
  [74, 'heavy snow'],
  [76, 'ice crystals'],
  [77, 'snow grains'],
  [78, 'ice crystals'],
  [80, 'light rain showers'],
  [81, 'rain showers'],
  [82, 'violent rain showers'],
  [83, 'light sleet showers'],
  [84, 'sleet showers'],
  [85, 'light snow showers'],
  [86, 'heavy snow showers'],
  [87, 'hail showers'],
  [91, 'rain after thunderstorm'],
  [93, 'snow after thunderstorm'],
  [95, 'thunderstorm'],
  [96, 'thunderstorm with hail'],
  [97, 'heavy thunderstorm'],
  [98, 'thunderstorm with dust storm'],
  [99, 'heavy thunderstorm with hail'],
];

/** `3` and `4-9`, with their words. */
function codesInWords(): readonly (readonly [string, string])[] {
  return CONDITIONS.map(([from, words], at) => {
    const last = (CONDITIONS[at + 1]?.[0] ?? CODES) - 1;
    return [last === from ? String(from) : `${from}-${last}`, words];
  });
}

/** Codes of the table begin with 0. */
const CODES = 100;

/** @param code 0 to 99 */
export function conditionOf(code: number): string {
  return CONDITIONS.findLast(([from]) => from <= code)![1];
}

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
  meanings: [{ fields: days.map((i) => `wc${i}`), values: codesInWords() }],
};

/** Three days at a place. Uses the feed of `weather`, so one provider call serves both. */
export function makeForecast(places: Places, providers: Providers): Service {
  return providedService({
    resource: 'forecast',
    operation: 'get',
    enabled: providers.has('meteo'),
    about: FORECAST_ABOUT,
    plan(params, now) {
      const place = parseLocation(params, places);
      if (isLocationFault(place)) return locationFault(place, now);
      return () =>
        after(providers.ask('meteo', cellKey(place), now), (reading) =>
          outcomeOf(reading, now, FORECAST_ABOUT.ttl, (meteo) => fieldsOf(place, meteo)),
        );
    },
  });
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
