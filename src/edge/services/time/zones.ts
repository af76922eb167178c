import { fold } from '../places/fold.ts';

/** Names of the IANA database that the engine does not list, because it lists another name of the same zone. */
const OTHER_NAMES = `
Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca
America/Argentina/ComodRivadavia America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza
America/Atikokan America/Atka America/Ensenada America/Fort_Wayne America/Indiana/Indianapolis
America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon America/Nuuk America/Pangnirtung
America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock America/Thunder_Bay
America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan Asia/Chongqing Asia/Chungking
Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Kolkata Asia/Macao
Asia/Tel_Aviv Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen
Australia/ACT Australia/Canberra Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland
Australia/South Australia/Tasmania Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre
Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain
Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon Chile/Continental Chile/EasterIsland Cuba EET EST
EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12 Etc/GMT+2 Etc/GMT+3 Etc/GMT+4
Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12 Etc/GMT-13
Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich
Etc/UCT Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Kyiv Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod
Europe/Zaporozhye GB GB-Eire GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein
Libya MET MST MST7MDT Mexico/BajaNorte Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Chuuk
Pacific/Johnston Pacific/Kanton Pacific/Pohnpei Pacific/Samoa Pacific/Yap Poland Portugal ROC ROK Singapore Turkey
UCT US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana US/Eastern US/Hawaii US/Indiana-Starke US/Michigan
US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`;

/**
 * Abbreviations of local times that are no names of zones. Several have more than one meaning, so that none is answered,
 * and no city or airport of the same letters is taken for them.
 */
const ABBREVIATIONS: ReadonlySet<string> = new Set(
  `
acdt acst act adt aedt aest aft akdt akst amt art ast awst azt bdt bnt bot brst brt bst btt cat cdt cest chst clst
cot cst eat ect edt eest gst hadt hast hdt hkt hovt ict idt ist jst kst lhdt lhst mdt mmt msd msk myt ndt npt nst nzdt
nzst pdt pht pkt pst pyt sast sgt sst tjt tmt trt uyt uzt vet wast wat wedt west wib wit wita wst factory
`
    .trim()
    .split(/\s+/),
);

/** IANA names by their folded form: `america-new-york`, and `etc-gmt-plus-5` for a sign that a label cannot say. */
const ZONES: ReadonlyMap<string, string> = new Map(
  [...Intl.supportedValuesOf('timeZone'), ...OTHER_NAMES.trim().split(/\s+/)].map((name) => [
    foldedZone(name),
    name,
  ]),
);

/** The zone of a label such as `europe-berlin`, in any case, with hyphens for `/` and `_`; null when there is none. */
export function zoneOfLabel(label: string): string | null {
  return ZONES.get(foldedZone(label)) ?? null;
}

/** Whether a label is an abbreviation such as `pst`, for which there is no answer. */
export function isAbbreviation(label: string): boolean {
  return ABBREVIATIONS.has(label.toLowerCase());
}

/** `Etc/GMT-5` is five hours east of UTC and `Etc/GMT+5` five hours west: they must not fold into one. */
function foldedZone(text: string): string {
  return fold(text.replaceAll('+', '-plus-'));
}

export const ZONE_NAMES: readonly string[] = [...ZONES.values()];
