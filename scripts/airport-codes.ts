/**
 * IATA codes of the busiest airports and the places that they serve: code, ASCII name in GeoNames, country. Without GOA,
 * which is a state of India.
 */
export const AIRPORTS = `
ATL Atlanta US, DXB Dubai AE, DFW Dallas US, LHR London GB, HND Tokyo JP, DEN Denver US, IST Istanbul TR, ORD Chicago US
DEL Delhi IN, PVG Shanghai CN, LAX Los Angeles US, CDG Paris FR, AMS Amsterdam NL, MAD Madrid ES, FRA Frankfurt am Main DE
CAN Guangzhou CN, ICN Seoul KR, SIN Singapore SG, JFK New York City US, BKK Bangkok TH, MCO Orlando US, LAS Las Vegas US
CLT Charlotte US, MIA Miami US, SEA Seattle US, PHX Phoenix US, EWR Newark US, SFO San Francisco US, IAH Houston US
BCN Barcelona ES, KUL Kuala Lumpur MY, CGK Jakarta ID, BOM Mumbai IN, HKG Hong Kong HK, SZX Shenzhen CN, PEK Beijing CN
PKX Beijing CN, TFU Chengdu CN, CTU Chengdu CN, MEX Mexico City MX, BOS Boston US, MSP Minneapolis US, FLL Fort Lauderdale US
DTW Detroit US, PHL Philadelphia US, LGA New York City US, BWI Baltimore US, SLC Salt Lake City US, IAD Washington, D.C. US
DCA Washington, D.C. US, MDW Chicago US, SAN San Diego US, TPA Tampa US, BNA Nashville US, AUS Austin US, HNL Honolulu US
PDX Portland US, STL Saint Louis US, DAL Dallas US, HOU Houston US, OAK Oakland US, MSY New Orleans US, RDU Raleigh US
SMF Sacramento US, SJC San Jose US, SNA Santa Ana US, MCI Kansas City US, CLE Cleveland US, IND Indianapolis US
PIT Pittsburgh US, CVG Cincinnati US, CMH Columbus US, JAX Jacksonville US, SAT San Antonio US, RSW Fort Myers US
BDL Hartford US, MKE Milwaukee US, OGG Kahului US, ABQ Albuquerque US, ANC Anchorage US, BUF Buffalo US, OMA Omaha US
MEM Memphis US, BHM Birmingham US, SDF Louisville US, OKC Oklahoma City US, TUL Tulsa US, RIC Richmond US, ORF Norfolk US
CHS Charleston US, SAV Savannah US, PVD Providence US, TUS Tucson US, ELP El Paso US, BOI Boise US, RNO Reno US
GEG Spokane US, BUR Burbank US, ONT Ontario US, LGB Long Beach US, PBI West Palm Beach US, ROC Rochester US, SYR Syracuse US
ALB Albany US, DSM Des Moines US, SJU San Juan PR, YYZ Toronto CA, YVR Vancouver CA, YUL Montreal CA, YYC Calgary CA
YEG Edmonton CA, YOW Ottawa CA, YWG Winnipeg CA, YHZ Halifax CA, YQB Quebec CA, YYJ Victoria CA, YYT St. John's CA
CUN Cancun MX, GDL Guadalajara MX, MTY Monterrey MX, TIJ Tijuana MX, BOG Bogota CO, MDE Medellin CO, CLO Cali CO
CTG Cartagena CO, LIM Lima PE, CUZ Cusco PE, SCL Santiago CL, EZE Buenos Aires AR, AEP Buenos Aires AR, COR Cordoba AR
MVD Montevideo UY, ASU Asuncion PY, GRU Sao Paulo BR, CGH Sao Paulo BR, VCP Campinas BR, GIG Rio de Janeiro BR
SDU Rio de Janeiro BR, BSB Brasilia BR, CNF Belo Horizonte BR, SSA Salvador BR, REC Recife BR, FOR Fortaleza BR
POA Porto Alegre BR, CWB Curitiba BR, BEL Belem BR, MAO Manaus BR, FLN Florianopolis BR, UIO Quito EC, GYE Guayaquil EC
CCS Caracas VE, PTY Panama PA, SJO San Jose CR, SAL San Salvador SV, GUA Guatemala City GT, HAV Havana CU
PUJ Punta Cana DO, SDQ Santo Domingo DO, KIN Kingston JM, MBJ Montego Bay JM, NAS Nassau BS, LGW London GB, STN London GB
LTN London GB, LCY London GB, MAN Manchester GB, EDI Edinburgh GB, GLA Glasgow GB, BHX Birmingham GB, BRS Bristol GB
NCL Newcastle upon Tyne GB, LPL Liverpool GB, BFS Belfast GB, ABZ Aberdeen GB, DUB Dublin IE, ORK Cork IE, SNN Shannon IE
ORY Paris FR, NCE Nice FR, LYS Lyon FR, MRS Marseille FR, TLS Toulouse FR, BOD Bordeaux FR, NTE Nantes FR, SXB Strasbourg FR
BRU Brussels BE, CRL Charleroi BE, EIN Eindhoven NL, RTM Rotterdam NL, LUX Luxembourg LU, MUC Munich DE, BER Berlin DE
DUS Duesseldorf DE, HAM Hamburg DE, CGN Koeln DE, STR Stuttgart DE, HAJ Hannover DE, LEJ Leipzig DE, NUE Nuernberg DE
ZRH Zurich CH, GVA Geneve CH, BSL Basel CH, VIE Vienna AT, SZG Salzburg AT, INN Innsbruck AT, PMI Palma ES, AGP Malaga ES
ALC Alicante ES, VLC Valencia ES, SVQ Sevilla ES, BIO Bilbao ES, IBZ Ibiza ES, LPA Las Palmas de Gran Canaria ES
TFS Santa Cruz de Tenerife ES, LIS Lisbon PT, OPO Porto PT, FAO Faro PT, FNC Funchal PT, FCO Rome IT, CIA Rome IT
MXP Milan IT, LIN Milan IT, BGY Bergamo IT, VCE Venice IT, NAP Naples IT, BLQ Bologna IT, CTA Catania IT, PMO Palermo IT
TRN Turin IT, PSA Pisa IT, FLR Florence IT, BRI Bari IT, ATH Athens GR, SKG Thessaloniki GR, HER Irakleion GR
RHO Rodos GR, LCA Larnaca CY, MLA Valletta MT, CPH Copenhagen DK, BLL Billund DK, ARN Stockholm SE, GOT Goeteborg SE
OSL Oslo NO, BGO Bergen NO, TRD Trondheim NO, SVG Stavanger NO, HEL Helsinki FI, KEF Reykjavik IS, RIX Riga LV
VNO Vilnius LT, TLL Tallinn EE, WAW Warsaw PL, KRK Krakow PL, GDN Gdansk PL, KTW Katowice PL, WRO Wroclaw PL, PRG Prague CZ
BUD Budapest HU, BTS Bratislava SK, OTP Bucharest RO, CLJ Cluj-Napoca RO, SOF Sofia BG, BEG Belgrade RS, ZAG Zagreb HR
SPU Split HR, DBV Dubrovnik HR, LJU Ljubljana SI, TIA Tirana AL, SKP Skopje MK, SJJ Sarajevo BA, KBP Kyiv UA, ODS Odessa UA
SVO Moscow RU, DME Moscow RU, VKO Moscow RU, LED Saint Petersburg RU, SVX Yekaterinburg RU, OVB Novosibirsk RU
AER Sochi RU, SAW Istanbul TR, AYT Antalya TR, ESB Ankara TR, ADB Izmir TR, TBS Tbilisi GE, EVN Yerevan AM, GYD Baku AZ
ALA Almaty KZ, TAS Tashkent UZ, TLV Tel Aviv IL, AMM Amman JO, BEY Beirut LB, BGW Baghdad IQ, THR Tehran IR, IKA Tehran IR
MHD Mashhad IR, JED Jeddah SA, RUH Riyadh SA, DMM Dammam SA, MED Medina SA, DOH Doha QA, AUH Abu Dhabi AE, SHJ Sharjah AE
BAH Manama BH, KWI Kuwait City KW, MCT Muscat OM, CAI Cairo EG, HRG Hurghada EG, ALG Algiers DZ, TUN Tunis TN
CMN Casablanca MA, RAK Marrakesh MA, LOS Lagos NG, ABV Abuja NG, ACC Accra GH, DSS Dakar SN, ABJ Abidjan CI
NBO Nairobi KE, MBA Mombasa KE, ADD Addis Ababa ET, EBB Entebbe UG, DAR Dar es Salaam TZ, KGL Kigali RW, LUN Lusaka ZM
HRE Harare ZW, JNB Johannesburg ZA, CPT Cape Town ZA, DUR Durban ZA, MRU Port Louis MU, TNR Antananarivo MG
KHI Karachi PK, LHE Lahore PK, ISB Islamabad PK, BLR Bengaluru IN, MAA Chennai IN, HYD Hyderabad IN, CCU Kolkata IN
AMD Ahmedabad IN, COK Cochin IN, PNQ Pune IN, JAI Jaipur IN, LKO Lucknow IN, CMB Colombo LK, DAC Dhaka BD, KTM Kathmandu NP
MLE Male MV, RGN Yangon MM, DMK Bangkok TH, HKT Phuket TH, CNX Chiang Mai TH, SGN Ho Chi Minh City VN, HAN Hanoi VN
DAD Da Nang VN, PNH Phnom Penh KH, REP Siem Reap KH, VTE Vientiane LA, PEN George Town MY, BKI Kota Kinabalu MY
KCH Kuching MY, BWN Bandar Seri Begawan BN, DPS Denpasar ID, SUB Surabaya ID, KNO Medan ID, MNL Manila PH, CEB Cebu City PH
TPE Taipei TW, KHH Kaohsiung TW, MFM Macau MO, NRT Tokyo JP, KIX Osaka JP, ITM Osaka JP, NGO Nagoya JP, CTS Sapporo JP
FUK Fukuoka JP, OKA Naha JP, GMP Seoul KR, PUS Busan KR, CJU Jeju City KR, SHA Shanghai CN, HGH Hangzhou CN, XIY Xi'an CN
CKG Chongqing CN, KMG Kunming CN, WUH Wuhan CN, NKG Nanjing CN, CSX Changsha CN, XMN Xiamen CN, TAO Qingdao CN
URC Urumqi CN, HRB Harbin CN, DLC Dalian CN, TSN Tianjin CN, CGO Zhengzhou CN, HAK Haikou CN, SYX Sanya CN
SYD Sydney AU, MEL Melbourne AU, BNE Brisbane AU, PER Perth AU, ADL Adelaide AU, OOL Gold Coast AU, CNS Cairns AU
CBR Canberra AU, DRW Darwin AU, HBA Hobart AU, AKL Auckland NZ, WLG Wellington NZ, CHC Christchurch NZ, ZQN Queenstown NZ
NAN Nadi FJ, PPT Papeete PF, GUM Tamuning GU, NOU Noumea NC
`
  .trim()
  .split(/\n|, (?=[A-Z]{3} )/)
  .map((row): readonly [code: string, place: string, country: string] => [
    row.slice(0, 3),
    row.slice(4, -3),
    row.slice(-2),
  ]);
