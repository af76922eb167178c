import { makeAerial } from './aerial.ts';
import { makeBase } from './base.ts';
import { makeBtc } from './btc.ts';
import { makeCidr } from './cidr.ts';
import { makeCoin } from './coin.ts';
import { makeCrypto } from './crypto.ts';
import { makeDice } from './dice.ts';
import { makeEpoch } from './epoch.ts';
import type { ExchangeMap } from './exchanges.ts';
import { makeForecast } from './forecast.ts';
import { makeForex } from './forex.ts';
import { makeGeoip } from './geoip.ts';
import type { AddressSource } from './geoip-files.ts';
import { makeMoon } from './moon.ts';
import { makePi } from './pi.ts';
import type { Places } from './places/place.ts';
import type { Providers } from './providers/worker.ts';
import { makeRandom } from './random.ts';
import type { Service } from './service.ts';
import { makeStock } from './stock.ts';
import { makeSun } from './sun.ts';
import { makeTime } from './time.ts';
import { makeUnits } from './units.ts';
import { makeUuid } from './uuid.ts';
import { makeWeather } from './weather.ts';
import { makeWords } from './words.ts';

export interface ServiceContext {
  readonly places: Places;
  readonly geoip: AddressSource;
  readonly providers: Providers;
  /** Which exchange lists which ticker; null without an import. */
  readonly exchanges: () => ExchangeMap | null;
  /** Whether `btc` answers (with mock data). */
  readonly btc: boolean;
}

/** All public services, in the order of the documentation. The only registration. */
export function makeServices(context: ServiceContext): readonly Service[] {
  const { places, geoip, providers, exchanges, btc } = context;
  return [
    makeWeather(places, providers),
    makeForecast(places, providers),
    makeStock(providers, exchanges),
    makeForex(providers),
    makeCrypto(providers),
    makeGeoip(geoip),
    makeUnits(),
    makeSun(places),
    makeMoon(),
    makeTime(places),
    makeEpoch(),
    makeAerial(places),
    makeCidr(),
    makeBase(),
    makeWords(),
    makePi(),
    makeDice(),
    makeCoin(),
    makeRandom(),
    makeUuid(),
    makeBtc(btc),
  ];
}
