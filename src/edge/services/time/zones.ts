import { fold } from '../places/fold.ts';

/** Names of the IANA database that the engine does not list, because it lists another name of the same zone. */
const OTHER_NAMES = `
Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca
America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza
America/Atikokan America/Atka America/Ensenada America/Fort_Wayne America/Indiana/Indianapolis
America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon America/Nuuk America/Pangnirtung
America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock America/Thunder_Bay
America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan Asia/Chongqing Asia/Chungking
Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Kolkata Asia/Macao Asia/Tel_Aviv
Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen Australia/ACT
Australia/Canberra Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland Australia/South
Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre Brazil/DeNoronha Brazil/East
Brazil/West Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain Canada/Newfoundland Canada/Pacific
Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland Etc/GMT Etc/UTC Europe/Belfast Europe/Kyiv
Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod Europe/Zaporozhye GMT Mexico/BajaNorte Mexico/BajaSur Mexico/General
Pacific/Chuuk Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Samoa Pacific/Yap US/Alaska US/Aleutian US/Arizona
US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan US/Mountain US/Pacific US/Samoa UTC
`;

/** IANA names by their folded form: `america-new-york`. Without `Etc/GMT+5`, whose sign a label cannot say. */
const ZONES: ReadonlyMap<string, string> = new Map(
  [...Intl.supportedValuesOf('timeZone'), ...OTHER_NAMES.trim().split(/\s+/)]
    .filter((name) => !/[+\d]$/.test(name))
    .map((name) => [fold(name), name]),
);

/** The zone of a label such as `europe-berlin`, in any case, with hyphens for `/` and `_`; null when there is none. */
export function zoneOfLabel(label: string): string | null {
  return ZONES.get(fold(label)) ?? null;
}

export const ZONE_NAMES: readonly string[] = [...ZONES.values()];
