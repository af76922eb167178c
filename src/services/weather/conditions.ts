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

/** @param code 0 to 99 */
export function conditionOf(code: number): string {
  return CONDITIONS.findLast(([from]) => from <= code)![1];
}
