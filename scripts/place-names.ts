/**
 * GeoNames' alternate names do not say which is today's English name, and which is a former name. This table does.
 * Names are as people write them; places have their ASCII name and country in GeoNames.
 */

type PlaceName = readonly [name: string, place: string, country: string];

/**
 * English names of places that GeoNames lists under a local or longer name. Such a name counts as the place's main
 * name, so the most populous place of that name answers.
 */
export const ENGLISH_NAMES: readonly PlaceName[] = [
  ['Geneva', 'Geneve', 'CH'],
  ['Lucerne', 'Luzern', 'CH'],
  ['Hanover', 'Hannover', 'DE'],
  ['Brunswick', 'Braunschweig', 'DE'],
  ['Cologne', 'Koeln', 'DE'],
  ['Frankfurt', 'Frankfurt am Main', 'DE'],
  ['Bruges', 'Brugge', 'BE'],
  ['Ghent', 'Gent', 'BE'],
  ['Dunkirk', 'Dunkerque', 'FR'],
  ['Padua', 'Padova', 'IT'],
  ['Mantua', 'Mantova', 'IT'],
  ['Syracuse', 'Siracusa', 'IT'],
  ['Seville', 'Sevilla', 'ES'],
  ['Panama City', 'Panama', 'PA'],
  ['Leon', 'Leon de los Aldama', 'MX'],
  ['Santa Cruz', 'Santa Cruz de la Sierra', 'BO'],
  ['Sudbury', 'Greater Sudbury', 'CA'],
  ['Newcastle', 'Newcastle upon Tyne', 'GB'],
  ['Lexington', 'Lexington-Fayette', 'US'],
  ['Las Palmas', 'Las Palmas de Gran Canaria', 'ES'],
  ['Stoke', 'Stoke-on-Trent', 'GB'],
  ['Rostov', 'Rostov-na-Donu', 'RU'],
  ['Mykolaiv', 'Mykolayiv', 'UA'],
];

/** Former names. A place that has the name today takes precedence, whatever its population. */
export const FORMER_NAMES: readonly PlaceName[] = [
  ['Salisbury', 'Harare', 'ZW'],
  ['Batavia', 'Jakarta', 'ID'],
  ['New Amsterdam', 'New York City', 'US'],
  ['Smyrna', 'Izmir', 'TR'],
  ['Canton', 'Guangzhou', 'CN'],
  ['Pekin', 'Beijing', 'CN'],
  ['Sverdlovsk', 'Yekaterinburg', 'RU'],
  ['Kuybyshev', 'Samara', 'RU'],
  ['Edessa', 'Sanliurfa', 'TR'],
  ['Berea', 'Aleppo', 'SY'],
  ['Zion', 'Jerusalem', 'IL'],
  ['Tremont', 'Boston', 'US'],
  ['Whitehall', 'Atlanta', 'US'],
  ['Hayden', 'Mesa', 'US'],
  ['Forest City', 'Cleveland', 'US'],
];
