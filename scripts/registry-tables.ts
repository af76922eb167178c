/** What is published, of which scripts/registry.ts makes datasets. */

interface NumberRange {
  /** First and last prefix of the range. */
  readonly first: number;
  readonly last: number;
}

/**
 * Prefixes that number trade items, of three digits, and the country of the member organisation (ISO 3166-1; `ZZ`: none), in ascending order.
 * As GS1 publishes it (https://www.gs1.org/standards/id-keys/company-prefix). Left out: numbers inside a shop (020-029,
 * 040-049, 200-299), coupons and refunds (050-059, 980-999), ISSN and ISBN (977-979), what has no item (950, 951, 960-969).
 */
export const GS1_PREFIXES: readonly (NumberRange & { readonly cc: string })[] = [
  ...`
000-019 US  030-039 US  060-139 US  300-379 FR  380 BG  383 SI  385 HR  387 BA  389 ME  400-440 DE
450-459 JP  460-469 RU  470 KG  471 TW  474 EE  475 LV  476 AZ  477 LT  478 UZ  479 LK  480 PH  481 BY
482 UA  483 TM  484 MD  485 AM  486 GE  487 KZ  488 TJ  489 HK  490-499 JP  500-509 GB  520-521 GR  528 LB
529 CY  530 AL  531 MK  535 MT  539 IE  540-549 BE  560 PT  569 IS  570-579 DK  590 PL  594 RO  599 HU
600-601 ZA  603 GH  604 SN  608 BH  609 MU  611 MA  613 DZ  615 NG  616 KE  618 CI  619 TN  620 TZ  621 SY
622 EG  624 LY  625 JO  626 IR  627 KW  628 SA  629 AE  640-649 FI  690-699 CN  700-709 NO  729 IL
730-739 SE  740 GT  741 SV  742 HN  743 NI  744 CR  745 PA  746 DO  750 MX  754-755 CA  759 VE  760-769 CH
770-771 CO  773 UY  775 PE  777 BO  778-779 AR  780 CL  784 PY  786 EC  789-790 BR  800-839 IT  840-849 ES
850 CU  858 SK  859 CZ  860 RS  865 MN  867 KP  868-869 TR  870-879 NL  880 KR  884 KH  885 TH  888 SG
890 IN  893 VN  896 PK  899 ID  900-919 AT  930-939 AU  940-949 NZ  952 ZZ  955 MY  958 MO
`.matchAll(/(\d{3})(?:-(\d{3}))? ([A-Z]{2})/g),
].map(([, first, last = first, cc]) => ({ first: Number(first), last: Number(last), cc: cc! }));

/**
 * Ranges that card networks have published, of six digits, in ascending order, without those that two networks share. `since`: the first day of
 * the sample; of ranges that are younger than 2000, the day that the network gave.
 */
export const CARD_RANGES: readonly (NumberRange & { readonly since: string; readonly network: string })[] = [
  ...`
220000-220499 2015-12-15 Mir
222100-272099 2017-01-01 Mastercard
340000-349999 1980-01-01 American Express
352800-358999 1985-01-01 JCB
360000-369999 1980-01-01 Diners Club International
370000-379999 1980-01-01 American Express
400000-499999 1980-01-01 Visa
506099-506198 2009-01-01 Verve
508500-508999 2012-03-26 RuPay
510000-559999 1980-01-01 Mastercard
601100-601199 1985-09-17 Discover
620000-622125 2002-03-26 UnionPay
644000-649999 1985-09-17 Discover
675900-675999 1991-01-01 Maestro
979200-979289 2016-04-01 Troy
`.matchAll(/(\d+)-(\d+) (\S+) (.+)/g),
].map(([, first, last, since, network]) => ({
  first: Number(first),
  last: Number(last),
  since: since!,
  network: network!,
}));

/**
 * Legal tender of countries since 1995, from ISO 4217 and what the central banks published: country, central bank, then currencies
 * with the day from which each one is the country's. The euro's coins came in 2002; it is the currency since the day given here.
 */
export const CURRENCIES = `
AT | Oesterreichische Nationalbank | ATS Schilling | 1999-01-01 EUR Euro
AU | Reserve Bank of Australia | AUD Australian Dollar
BE | National Bank of Belgium | BEF Belgian Franc | 1999-01-01 EUR Euro
BG | Bulgarian National Bank | BGL Lev | 1999-07-05 BGN Bulgarian Lev | 2026-01-01 EUR Euro
BR | Banco Central do Brasil | BRL Brazilian Real
BY | National Bank of the Republic of Belarus | BYB Belarusian Ruble | 2000-01-01 BYR Belarusian Ruble | 2016-07-01 BYN Belarusian Ruble
CA | Bank of Canada | CAD Canadian Dollar
CH | Swiss National Bank | CHF Swiss Franc
CL | Banco Central de Chile | CLP Chilean Peso
CN | People's Bank of China | CNY Yuan Renminbi
CW | Centrale Bank van Curaçao en Sint Maarten | ANG Netherlands Antillean Guilder | 2025-03-31 XCG Caribbean Guilder
CY | Central Bank of Cyprus | CYP Cyprus Pound | 2008-01-01 EUR Euro
CZ | Czech National Bank | CZK Czech Koruna
DE | Deutsche Bundesbank | DEM Deutsche Mark | 1999-01-01 EUR Euro
DK | Danmarks Nationalbank | DKK Danish Krone
EE | Bank of Estonia | EEK Kroon | 2011-01-01 EUR Euro
ES | Banco de España | ESP Spanish Peseta | 1999-01-01 EUR Euro
FI | Bank of Finland | FIM Markka | 1999-01-01 EUR Euro
FR | Banque de France | FRF French Franc | 1999-01-01 EUR Euro
GB | Bank of England | GBP Pound Sterling
GR | Bank of Greece | GRD Drachma | 2001-01-01 EUR Euro
HR | Croatian National Bank | HRK Kuna | 2023-01-01 EUR Euro
HU | Magyar Nemzeti Bank | HUF Forint
IE | Central Bank of Ireland | IEP Irish Pound | 1999-01-01 EUR Euro
IL | Bank of Israel | ILS New Israeli Sheqel
IN | Reserve Bank of India | INR Indian Rupee
IS | Central Bank of Iceland | ISK Iceland Krona
IT | Banca d'Italia | ITL Italian Lira | 1999-01-01 EUR Euro
JP | Bank of Japan | JPY Yen
KR | Bank of Korea | KRW Won
LT | Bank of Lithuania | LTL Lithuanian Litas | 2015-01-01 EUR Euro
LU | Banque centrale du Luxembourg | LUF Luxembourg Franc | 1999-01-01 EUR Euro
LV | Latvijas Banka | LVL Latvian Lats | 2014-01-01 EUR Euro
MR | Banque Centrale de Mauritanie | MRO Ouguiya | 2018-01-01 MRU Ouguiya
MT | Central Bank of Malta | MTL Maltese Lira | 2008-01-01 EUR Euro
MX | Banco de México | MXN Mexican Peso
NL | De Nederlandsche Bank | NLG Netherlands Guilder | 1999-01-01 EUR Euro
NO | Norges Bank | NOK Norwegian Krone
NZ | Reserve Bank of New Zealand | NZD New Zealand Dollar
PL | Narodowy Bank Polski | PLN Zloty
PT | Banco de Portugal | PTE Portuguese Escudo | 1999-01-01 EUR Euro
RO | National Bank of Romania | ROL Old Leu | 2005-07-01 RON Romanian Leu
RU | Bank of Russia | RUR Russian Ruble | 1998-01-01 RUB Russian Ruble
SE | Sveriges Riksbank | SEK Swedish Krona
SI | Banka Slovenije | SIT Tolar | 2007-01-01 EUR Euro
SK | National Bank of Slovakia | SKK Slovak Koruna | 2009-01-01 EUR Euro
ST | Banco Central de São Tomé e Príncipe | STD Dobra | 2018-01-01 STN Dobra
SX | Centrale Bank van Curaçao en Sint Maarten | ANG Netherlands Antillean Guilder | 2025-03-31 XCG Caribbean Guilder
TM | Central Bank of Turkmenistan | TMM Turkmenistan Manat | 2009-01-01 TMT Turkmenistan New Manat
TR | Central Bank of the Republic of Türkiye | TRL Old Turkish Lira | 2005-01-01 TRY Turkish Lira
US | Federal Reserve System | USD US Dollar
VE | Banco Central de Venezuela | VEB Bolívar | 2008-01-01 VEF Bolívar Fuerte | 2018-08-20 VES Bolívar Soberano
ZA | South African Reserve Bank | ZAR Rand
ZM | Bank of Zambia | ZMK Zambian Kwacha | 2013-01-01 ZMW Zambian Kwacha
`;
