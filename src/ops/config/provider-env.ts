import { providerBase, text } from './parsers.ts';
import { variable } from './variable.ts';

const BASE = 'an http or https URL without credentials and query, or off';

/** Variables of the data providers, a part of `ENVIRONMENT`. */
export const PROVIDERS = {
  UQRP_OPENMETEO_URL: variable({
    parse: providerBase,
    fallback: 'https://api.open-meteo.com',
    meaning:
      'Open-Meteo, first source of `weather` and `forecast`; its free service is for non-commercial use; `off`: not asked',
    expects: BASE,
  }),
  UQRP_METNO_URL: variable({
    parse: providerBase,
    fallback: 'https://api.met.no',
    meaning: 'MET Norway, second source of `weather` and `forecast`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_FRANKFURTER_URL: variable({
    parse: providerBase,
    fallback: 'https://api.frankfurter.dev',
    meaning: 'Frankfurter, first source of `forex`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_ECB_URL: variable({
    parse: providerBase,
    fallback: 'https://www.ecb.europa.eu',
    meaning: 'European Central Bank, second source of `forex`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_COINBASE_URL: variable({
    parse: providerBase,
    fallback: 'https://api.exchange.coinbase.com',
    meaning: 'Coinbase Exchange, first source of `crypto`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_KRAKEN_URL: variable({
    parse: providerBase,
    fallback: 'https://api.kraken.com',
    meaning: 'Kraken, second source of `crypto`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_TWELVEDATA_URL: variable({
    parse: providerBase,
    fallback: 'https://api.twelvedata.com',
    meaning: 'Twelve Data, first source of `stock`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_FINNHUB_URL: variable({
    parse: providerBase,
    fallback: 'https://finnhub.io/api/v1',
    meaning: 'Finnhub, second source of `stock`; `off`: not asked',
    expects: BASE,
  }),
  UQRP_TWELVEDATA_KEY: variable({
    parse: text,
    fallback: null,
    shown: 'not asked',
    meaning: 'Key of Twelve Data; without one of the two keys `stock` is off',
    expects: 'a key',
  }),
  UQRP_FINNHUB_KEY: variable({
    parse: text,
    fallback: null,
    shown: 'not asked',
    meaning: 'Key of Finnhub; without one of the two keys `stock` is off',
    expects: 'a key',
  }),
} as const;
