/** MET Norway's symbols, without time of day and thunder, as codes of WMO table 4677 that Open-Meteo also uses. */
const CODES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    clearsky: 0,
    fair: 1,
    partlycloudy: 2,
    cloudy: 3,
    fog: 45,
    lightrain: 61,
    rain: 63,
    heavyrain: 65,
    lightrainshowers: 80,
    rainshowers: 81,
    heavyrainshowers: 82,
    lightsleet: 68,
    sleet: 69,
    heavysleet: 69,
    lightsleetshowers: 83,
    sleetshowers: 84,
    heavysleetshowers: 84,
    lightsnow: 71,
    snow: 73,
    heavysnow: 75,
    lightsnowshowers: 85,
    snowshowers: 85,
    heavysnowshowers: 86,
  }),
);

const THUNDERSTORM = 95;
const TIME_OF_DAY = /_(?:day|night|polartwilight)$/;
const THUNDER = /andthunder$/;

export function wmoCode(symbol: unknown): number | null {
  if (typeof symbol !== 'string') return null;
  // Two names have an extra `s`: lightssleetshowersandthunder, lightssnowshowersandthunder.
  const name = symbol.replace(TIME_OF_DAY, '').replace('lightss', 'lights');
  const base = name.replace(THUNDER, '');
  const code = CODES.get(base) ?? null;
  return code !== null && base !== name ? THUNDERSTORM : code;
}
