import type { Line } from './items.ts';

/** The table tells of no time before. */
const BEGIN = '1995-01-01';
const EURO = 'EUR Euro';
const EURO_ISSUER = 'European Central Bank';

/**
 * Legal tender of countries since 1995, from ISO 4217 and what the central banks published: country, central bank, then currencies
 * with the day from which each one is the country's. The euro's coins came in 2002; it is the currency since the day given here.
 */
const TABLE = `
AT | Oesterreichische Nationalbank | ATS Schilling | 1999-01-01 ${EURO}
AU | Reserve Bank of Australia | AUD Australian Dollar
BE | National Bank of Belgium | BEF Belgian Franc | 1999-01-01 ${EURO}
BG | Bulgarian National Bank | BGL Lev | 1999-07-05 BGN Bulgarian Lev | 2026-01-01 ${EURO}
BR | Banco Central do Brasil | BRL Brazilian Real
BY | National Bank of the Republic of Belarus | BYB Belarusian Ruble | 2000-01-01 BYR Belarusian Ruble | 2016-07-01 BYN Belarusian Ruble
CA | Bank of Canada | CAD Canadian Dollar
CH | Swiss National Bank | CHF Swiss Franc
CL | Banco Central de Chile | CLP Chilean Peso
CN | People's Bank of China | CNY Yuan Renminbi
CW | Centrale Bank van Curaçao en Sint Maarten | ANG Netherlands Antillean Guilder | 2025-03-31 XCG Caribbean Guilder
CY | Central Bank of Cyprus | CYP Cyprus Pound | 2008-01-01 ${EURO}
CZ | Czech National Bank | CZK Czech Koruna
DE | Deutsche Bundesbank | DEM Deutsche Mark | 1999-01-01 ${EURO}
DK | Danmarks Nationalbank | DKK Danish Krone
EE | Bank of Estonia | EEK Kroon | 2011-01-01 ${EURO}
ES | Banco de España | ESP Spanish Peseta | 1999-01-01 ${EURO}
FI | Bank of Finland | FIM Markka | 1999-01-01 ${EURO}
FR | Banque de France | FRF French Franc | 1999-01-01 ${EURO}
GB | Bank of England | GBP Pound Sterling
GR | Bank of Greece | GRD Drachma | 2001-01-01 ${EURO}
HR | Croatian National Bank | HRK Kuna | 2023-01-01 ${EURO}
HU | Magyar Nemzeti Bank | HUF Forint
IE | Central Bank of Ireland | IEP Irish Pound | 1999-01-01 ${EURO}
IL | Bank of Israel | ILS New Israeli Sheqel
IN | Reserve Bank of India | INR Indian Rupee
IS | Central Bank of Iceland | ISK Iceland Krona
IT | Banca d'Italia | ITL Italian Lira | 1999-01-01 ${EURO}
JP | Bank of Japan | JPY Yen
KR | Bank of Korea | KRW Won
LT | Bank of Lithuania | LTL Lithuanian Litas | 2015-01-01 ${EURO}
LU | Banque centrale du Luxembourg | LUF Luxembourg Franc | 1999-01-01 ${EURO}
LV | Latvijas Banka | LVL Latvian Lats | 2014-01-01 ${EURO}
MR | Banque Centrale de Mauritanie | MRO Ouguiya | 2018-01-01 MRU Ouguiya
MT | Central Bank of Malta | MTL Maltese Lira | 2008-01-01 ${EURO}
MX | Banco de México | MXN Mexican Peso
NL | De Nederlandsche Bank | NLG Netherlands Guilder | 1999-01-01 ${EURO}
NO | Norges Bank | NOK Norwegian Krone
NZ | Reserve Bank of New Zealand | NZD New Zealand Dollar
PL | Narodowy Bank Polski | PLN Zloty
PT | Banco de Portugal | PTE Portuguese Escudo | 1999-01-01 ${EURO}
RO | National Bank of Romania | ROL Old Leu | 2005-07-01 RON Romanian Leu
RU | Bank of Russia | RUR Russian Ruble | 1998-01-01 RUB Russian Ruble
SE | Sveriges Riksbank | SEK Swedish Krona
SI | Banka Slovenije | SIT Tolar | 2007-01-01 ${EURO}
SK | National Bank of Slovakia | SKK Slovak Koruna | 2009-01-01 ${EURO}
ST | Banco Central de São Tomé e Príncipe | STD Dobra | 2018-01-01 STN Dobra
SX | Centrale Bank van Curaçao en Sint Maarten | ANG Netherlands Antillean Guilder | 2025-03-31 XCG Caribbean Guilder
TM | Central Bank of Turkmenistan | TMM Turkmenistan Manat | 2009-01-01 TMT Turkmenistan New Manat
TR | Central Bank of the Republic of Türkiye | TRL Old Turkish Lira | 2005-01-01 TRY Turkish Lira
US | Federal Reserve System | USD US Dollar
VE | Banco Central de Venezuela | VEB Bolívar | 2008-01-01 VEF Bolívar Fuerte | 2018-08-20 VES Bolívar Soberano
ZA | South African Reserve Bank | ZAR Rand
ZM | Bank of Zambia | ZMK Zambian Kwacha | 2013-01-01 ZMW Zambian Kwacha
`;

const CHANGE = /^(?:(\d{4}-\d{2}-\d{2}) )?([A-Z]{3}) (.+)$/;

/** One line a currency of a country, by country code and time: `brand` is the ISO 4217 code, `type` its name. */
export function* currencyLines(): Generator<Line> {
  for (const row of TABLE.trim().split('\n')) {
    const [cc = '', bank = '', ...currencies] = row.split(' | ');
    const starts = currencies.map((text) => CHANGE.exec(text)!);
    for (const [i, [, from = BEGIN, brand = '', type = '']] of starts.entries()) {
      const to = starts[i + 1]?.[1] ?? null;
      const issuer = brand === 'EUR' ? EURO_ISSUER : bank;
      yield { k: cc.toLowerCase(), from, to, issuer, brand, cc, type };
    }
  }
}
