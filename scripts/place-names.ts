/**
 * GeoNames' alternate names do not say which is today's English name, and which is a former name. This table does.
 * Names are as people write them; places have their ASCII name and country in GeoNames.
 */

type PlaceName = readonly [name: string, place: string, country: string];

/**
 * English names of places that GeoNames lists under a local or longer name. Such a name counts as the place's main
 * name, so the most populous place of that name answers, and it is the name in answers.
 */
export const ENGLISH_NAMES: readonly PlaceName[] = [
  ['Montreal', 'Montreal', 'CA'],
  ['Quebec City', 'Quebec', 'CA'],
  ['Zurich', 'Zurich', 'CH'],
  ['Krakow', 'Krakow', 'PL'],
  ['Izmir', 'Izmir', 'TR'],
  ['Geneva', 'Geneve', 'CH'],
  ['Lucerne', 'Luzern', 'CH'],
  ['Hanover', 'Hannover', 'DE'],
  ['Brunswick', 'Braunschweig', 'DE'],
  ['Cologne', 'Koeln', 'DE'],
  ['Nuremberg', 'Nuernberg', 'DE'],
  ['Bruges', 'Brugge', 'BE'],
  ['Ghent', 'Gent', 'BE'],
  ['Antwerp', 'Antwerpen', 'BE'],
  ['Dunkirk', 'Dunkerque', 'FR'],
  ['Padua', 'Padova', 'IT'],
  ['Mantua', 'Mantova', 'IT'],
  ['Syracuse', 'Siracusa', 'IT'],
  ['Seville', 'Sevilla', 'ES'],
  ['Vitoria-Gasteiz', 'Gasteiz / Vitoria', 'ES'],
  ['Panama City', 'Panama', 'PA'],
  ['Mykolaiv', 'Mykolayiv', 'UA'],
  ['Rostov-on-Don', 'Rostov-na-Donu', 'RU'],
  ['Nizhny Novgorod', 'Nizhniy Novgorod', 'RU'],
  ['Gothenburg', 'Goeteborg', 'SE'],
  ['Aarhus', 'Arhus', 'DK'],
  ['Limerick', 'Luimneach', 'IE'],
  ['Galway', 'Gaillimh', 'IE'],
  ['Enfield', 'Enfield Town', 'GB'],
  ['Westminster', 'City of Westminster', 'GB'],
  ['Kochi', 'Cochin', 'IN'],
  ['Dehradun', 'Dehra Dun', 'IN'],
  ['Howrah', 'Haora', 'IN'],
  ['Durango', 'Victoria de Durango', 'MX'],
  ['Ciudad Juárez', 'Juarez', 'MX'],
  ['Mansoura', 'Al Mansurah', 'EG'],
  ['Faiyum', 'Al Fayyum', 'EG'],
  ['Salt', 'As Salt', 'JO'],
  ['Basra', 'Basrah', 'IQ'],
  ['Hama', 'Hamah', 'SY'],
  ['Misrata', 'Misratah', 'LY'],
  ['Hodeidah', 'Al Hudaydah', 'YE'],
  ['Fez', 'Fes', 'MA'],
  ['Corinth', 'Korinthos', 'GR'],
  ['Patras', 'Patra', 'GR'],
  ['Heraklion', 'Irakleion', 'GR'],
  ['Rhodes', 'Rodos', 'GR'],
  ['Astana', 'Nur-Sultan', 'KZ'],
  ['Ulaanbaatar', 'Ulan Bator', 'MN'],
  ['Naypyidaw', 'Nay Pyi Taw', 'MM'],
];

/** Shorter and second names. They count as main names too, but answers have the full one. */
export const SHORT_NAMES: readonly PlaceName[] = [
  ['Frankfurt', 'Frankfurt am Main', 'DE'],
  ['Leon', 'Leon de los Aldama', 'MX'],
  ['Santa Cruz', 'Santa Cruz de la Sierra', 'BO'],
  ['Sudbury', 'Greater Sudbury', 'CA'],
  ['Newcastle', 'Newcastle upon Tyne', 'GB'],
  ['Stoke', 'Stoke-on-Trent', 'GB'],
  ['Londonderry', 'Derry', 'GB'],
  ['Lexington', 'Lexington-Fayette', 'US'],
  ['LA', 'Los Angeles', 'US'],
  ['NYC', 'New York City', 'US'],
  ['SF', 'San Francisco', 'US'],
  ['Waikiki', 'Honolulu', 'US'],
  ['Las Palmas', 'Las Palmas de Gran Canaria', 'ES'],
  ['Lerida', 'Lleida', 'ES'],
  ['Gerona', 'Girona', 'ES'],
  ['Rostov', 'Rostov-na-Donu', 'RU'],
  ['KL', 'Kuala Lumpur', 'MY'],
  ['Rio', 'Rio de Janeiro', 'BR'],
  ['Aix', 'Aix-en-Provence', 'FR'],
];

/** Names that are far better known for this place than for a more populous one. */
export const FAMOUS_NAMES: readonly PlaceName[] = [
  ['Newcastle', 'Newcastle upon Tyne', 'GB'],
  ['Georgetown', 'Georgetown', 'GY'],
  ['Monte Carlo', 'Monte-Carlo', 'MC'],
  ['Waikiki', 'Honolulu', 'US'],
  ['Corinth', 'Korinthos', 'GR'],
  ["St. John's", "Saint John's", 'AG'],
  ["Saint John's", "Saint John's", 'AG'],
  ["St. George's", "Saint George's", 'GD'],
  ['Philipsburg', 'Philipsburg', 'SX'],
  ['Quebec', 'Quebec', 'CA'],
  ['Cadiz', 'Cadiz', 'ES'],
  ['Salamanca', 'Salamanca', 'ES'],
  ['Valencia', 'Valencia', 'ES'],
  ['Monterey', 'Monterey', 'US'],
  ['Queenstown', 'Queenstown', 'NZ'],
  ['San Juan', 'San Juan', 'PR'],
  ['Waterford', 'Waterford', 'IE'],
  ['CDMX', 'Mexico City', 'MX'],
];

/** Names of countries and territories that a capital or a city state bears too. The others have no place. */
export const COUNTRY_CITIES: readonly PlaceName[] = [
  ['Luxembourg', 'Luxembourg', 'LU'],
  ['Singapore', 'Singapore', 'SG'],
  ['Mexico', 'Mexico City', 'MX'],
  ['Guatemala', 'Guatemala City', 'GT'],
  ['Panama', 'Panama', 'PA'],
  ['Kuwait', 'Kuwait City', 'KW'],
  ['Djibouti', 'Djibouti', 'DJ'],
  ['Monaco', 'Monaco', 'MC'],
  ['San Marino', 'San Marino', 'SM'],
  ['Andorra', 'Andorra la Vella', 'AD'],
  ['Belize', 'Belize City', 'BZ'],
  ['Brunei', 'Bandar Seri Begawan', 'BN'],
  ['Paraguay', 'Asuncion', 'PY'],
  ['Hong Kong', 'Hong Kong', 'HK'],
  ['Macau', 'Macau', 'MO'],
  ['Macao', 'Macau', 'MO'],
  ['Gibraltar', 'Gibraltar', 'GI'],
  ['Vatican', 'Vatican City', 'VA'],
  ['Vatican City', 'Vatican City', 'VA'],
];

/** States that have the name of a better known city. */
export const STATE_CITIES: readonly string[] = [
  'berlin',
  'bremen',
  'district of columbia',
  'hamburg',
  'new york',
  'quebec',
  'victoria',
  'washington',
  // Louisiana: two letters that everybody writes for Los Angeles.
  'la',
];

/** Names of countries, territories and islands besides those that the engine knows: former, official and short ones. */
export const OTHER_COUNTRY_NAMES = `
Abyssinia, Africa, Antarctica, Asia, Bali, Bolivarian Republic of Venezuela, Bosnia, Brunei Darussalam, Burma, Cabo Verde
Cape Verde, Ceylon, Channel Islands, Congo, Corsica, Cote d'Ivoire, Crete, Czech Republic, Czechia, DR Congo, Dagestan
Democratic Republic of the Congo, East Timor, Eire, England, Eswatini, Europe, Federated States of Micronesia, Goa
Great Britain, Hawaii, Holland, Holy See, Iran, Islamic Republic of Iran, Ivory Coast, Kampuchea, Kerala, Korea, Kurdistan
Lao People's Democratic Republic, Laos, Macedonia, Moldova, Myanmar, Netherlands Antilles, Newfoundland, North Korea
North Macedonia, Northern Ireland, Northern Cyprus, Palestine, Persia, Plurinational State of Bolivia, Republic of Ireland
Republic of Korea, Republic of Moldova, Republic of the Congo, Rhodesia, Russia, Russian Federation, Sardinia, Scotland
Siam, Sicily, South Korea, Soviet Union, State of Palestine, Swaziland, Syria, Syrian Arab Republic, Taiwan, Tanzania
Tasmania, The Bahamas, The Gambia, The Netherlands, The Philippines, Tibet, Timor-Leste, Turkey, Turkiye, Tuscany
U.A.E., U.K., U.S., U.S.A., Ukraine, United Republic of Tanzania, United States of America, Upper Volta, USSR, Venezuela
Viet Nam, Vietnam, Wales, Yugoslavia, Zaire
`
  .trim()
  .split(/\n|, /);

/** ISO 3166-1 alpha-3. */
export const COUNTRY_CODES = `
ABW AFG AGO AIA ALA ALB AND ARE ARG ARM ASM ATA ATF ATG AUS AUT AZE BDI BEL BEN BES BFA BGD BGR BHR BHS BIH BLM BLR BLZ
BMU BOL BRA BRB BRN BTN BVT BWA CAF CAN CCK CHE CHL CHN CIV CMR COD COG COK COL COM CPV CRI CUB CUW CXR CYM CYP CZE DEU
DJI DMA DNK DOM DZA ECU EGY ERI ESH ESP EST ETH FIN FJI FLK FRA FRO FSM GAB GBR GEO GGY GHA GIB GIN GLP GMB GNB GNQ GRC
GRD GRL GTM GUF GUM GUY HKG HMD HND HRV HTI HUN IDN IMN IND IOT IRL IRN IRQ ISL ISR ITA JAM JEY JOR JPN KAZ KEN KGZ KHM
KIR KNA KOR KWT LAO LBN LBR LBY LCA LIE LKA LSO LTU LUX LVA MAC MAF MAR MCO MDA MDG MDV MEX MHL MKD MLI MLT MMR MNE MNG
MNP MOZ MRT MSR MTQ MUS MWI MYS MYT NAM NCL NER NFK NGA NIC NIU NLD NOR NPL NRU NZL OMN PAK PAN PCN PER PHL PLW PNG POL
PRI PRK PRT PRY PSE PYF QAT REU ROU RUS RWA SAU SDN SEN SGP SGS SHN SJM SLB SLE SLV SMR SOM SPM SRB SSD STP SUR SVK SVN
SWE SWZ SXM SYC SYR TCA TCD TGO THA TJK TKL TKM TLS TON TTO TUN TUR TUV TWN TZA UGA UKR UMI URY USA UZB VAT VCT VEN VGB
VIR VNM VUT WLF WSM XKX YEM ZAF ZMB ZWE
`
  .trim()
  .split(/\s+/);

/** Countries whose names GeoNames transliterates: English has these without the marks. */
export const TRANSLITERATED: ReadonlySet<string> = new Set(
  `
AE AF AM BD BG BH BT BY CN CY DZ EG ER ET GE GR IL IN IQ IR JO JP KG KH KP KR KW KZ LA LB LK LY MA MK MM MN MO MV NP OM PK
PS QA RU SA SD SS SY TH TJ TN TW UA UZ YE
`
    .trim()
    .split(/\s+/),
);

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
