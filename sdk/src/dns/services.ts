import {
  type BaseNumber,
  COMPUTED_FIELDS,
  type CoinFlips,
  type DiceRoll,
  type Distance,
  type Instant,
  type LocalTime,
  type NetworkFacts,
  type NumberWords,
  type PiDigits,
  type RandomNumber,
  type Uuid,
} from './computed-fields.ts';
import { Unreadable } from './errors.ts';
import { encodeParam, NameError, type NameParts } from './name.ts';
import type { Reader, Reading, ReadOptions } from './reader.ts';
import {
  type AddressLocation,
  type Conversion,
  type CryptoPrice,
  FORECAST_DAY,
  type Forecast,
  type ForecastDay,
  type ForexRate,
  type Kind,
  type MoonPhase,
  SERVICE_FIELDS,
  type StockQuote,
  type SunTimes,
  type Weather,
} from './service-fields.ts';

const FIELDS = { ...SERVICE_FIELDS, ...COMPUTED_FIELDS };

/** A city in any spelling, or degrees. */
export type Place = string | { readonly lat: number; readonly lon: number };

/** The public services of a server, with typed answers (docs/SERVICES.md). */
export class Services {
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Units are those of docs/SERVICES.md, such as `km` and `mi`. */
  units(value: number, from: string, to: string, options?: ReadOptions): Promise<Reading<Conversion>> {
    return this.#read('units', [`${signed(value)}-${from}-to-${to}`], options);
  }

  /** @param date `2026-06-21`; today (UTC) unless given */
  sun(place: Place, date?: string, options?: ReadOptions): Promise<Reading<SunTimes>> {
    return this.#read('sun', date === undefined ? [placeParam(place)] : [date, placeParam(place)], options);
  }

  moon(date?: string, options?: ReadOptions): Promise<Reading<MoonPhase>> {
    return this.#read('moon', date === undefined ? [] : [date], options);
  }

  weather(place: Place, options?: ReadOptions): Promise<Reading<Weather>> {
    return this.#read('weather', [placeParam(place)], options);
  }

  async forecast(place: Place, options: ReadOptions = {}): Promise<Reading<Forecast>> {
    const reading = await this.#reader.fields(service('forecast', [placeParam(place)]), options);
    const fields = reading.data;
    const count = Number(fields.get('n'));
    if (!(count >= 0 && count <= 31)) throw new Unreadable('The answer has no number of days');
    const days = Array.from({ length: count }, (_, day) =>
      typed<ForecastDay>(fields, FORECAST_DAY, String(day)),
    );
    const { loc, ts } = typed<{ loc: string; ts: number }>(fields, { loc: 'text', ts: 'number' });
    return { ...reading, data: { loc, days, ts } };
  }

  /** @param exchange MIC of the listing exchange, such as `xnas` */
  stock(ticker: string, exchange?: string, options?: ReadOptions): Promise<Reading<StockQuote>> {
    const label = ticker.replaceAll('.', '-');
    return this.#read('stock', [exchange === undefined ? label : `${label}-x-${exchange}`], options);
  }

  forex(base: string, quote: string, options?: ReadOptions): Promise<Reading<ForexRate>> {
    return this.#read('forex', [`${base}-${quote}`], options);
  }

  crypto(symbol: string, quote = 'usd', options?: ReadOptions): Promise<Reading<CryptoPrice>> {
    return this.#read('crypto', [`${symbol}-${quote}`], options);
  }

  /** @param address an IPv4 or IPv6 address */
  async geoip(address: string, options: ReadOptions = {}): Promise<Reading<AddressLocation>> {
    const resource = `ip-${addressLabel(address)}`;
    const reading = await this.#reader.fields({ operation: 'geoip', resource, namespace: 'public' }, options);
    return { ...reading, data: typed<AddressLocation>(reading.data, SERVICE_FIELDS.geoip) };
  }

  /** @param where a city in any spelling, or an IANA time zone such as `Europe/Berlin` */
  time(where: string, options?: ReadOptions): Promise<Reading<LocalTime>> {
    return this.#read('time', [placeParam(where.replaceAll('/', '-'))], options);
  }

  /** @param instant a date, or ISO 8601 such as `2026-01-01`; now (of the server) unless given */
  epoch(instant?: Date | string, options?: ReadOptions): Promise<Reading<Instant>> {
    if (instant === undefined) return this.#read('epoch', [], options);
    if (typeof instant === 'string') return this.#read('epoch', [encodeParam(instant)], options);
    return this.#read('epoch', [`${signed(instant.getTime())}-ms`], options);
  }

  /** The great-circle distance. */
  aerial(from: Place, to: Place, options?: ReadOptions): Promise<Reading<Distance>> {
    return this.#read('aerial', [placeParam(from), placeParam(to)], options);
  }

  /**
   * @param network such as `10.0.0.0/8` or `2001:db8::/32`
   * @param address whether this one is in it
   */
  cidr(network: string, address?: string, options?: ReadOptions): Promise<Reading<NetworkFacts>> {
    const label = addressLabel(network.replace('/', '-'));
    return this.#read('cidr', address === undefined ? [label] : [addressLabel(address), label], options);
  }

  /** @param digits of a whole number in the base `from` */
  base(digits: string, from: number, to: number, options?: ReadOptions): Promise<Reading<BaseNumber>> {
    return this.#read('base', [encodeParam(`${digits}-${from}-to-${to}`)], options);
  }

  /** @param value a number, or its digits where a number would not hold them */
  words(value: number | bigint | string, options?: ReadOptions): Promise<Reading<NumberWords>> {
    const text = typeof value === 'number' ? plain(value) : String(value);
    return this.#read('words', [text.replace('-', 'n').replace('.', 'd')], options);
  }

  pi(digits: number, options?: ReadOptions): Promise<Reading<PiDigits>> {
    return this.#read('pi', [plain(digits)], options);
  }

  /** @param formula such as `2d6+1` */
  dice(formula: string, options?: ReadOptions): Promise<Reading<DiceRoll>> {
    return this.#read('dice', [formula.replace('+', 'p').replace('-', 'n')], options);
  }

  coin(count = 1, options?: ReadOptions): Promise<Reading<CoinFlips>> {
    return this.#read('coin', [plain(count)], options);
  }

  /** Whole numbers; both bounds are included. */
  random(min: number, max: number, options?: ReadOptions): Promise<Reading<RandomNumber>> {
    return this.#read('random', [`${signed(min)}-to-${signed(max)}`], options);
  }

  uuid(version: 4 | 7 = 4, options?: ReadOptions): Promise<Reading<Uuid>> {
    return this.#read('uuid', [`v${version}`], options);
  }

  async #read<T>(
    resource: Exclude<keyof typeof FIELDS, 'geoip'>,
    params: readonly string[],
    options: ReadOptions = {},
  ): Promise<Reading<T>> {
    const reading = await this.#reader.fields(service(resource, params), options);
    return { ...reading, data: typed<T>(reading.data, FIELDS[resource]) };
  }
}

function service(resource: string, params: readonly string[]): NameParts {
  return { params, resource, namespace: 'public' };
}

/** The fields of the table, numbers as numbers. @param suffix behind each name */
function typed<T>(
  fields: ReadonlyMap<string, string>,
  kinds: Readonly<Record<string, Kind>>,
  suffix = '',
): T {
  const out: Record<string, string | number> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    const text = fields.get(name + suffix);
    if (text === undefined) {
      if (kind.endsWith('?')) continue;
      throw new Unreadable(`The answer has no field ${name + suffix}`);
    }
    const value = kind.startsWith('number') ? Number(text) : text;
    if (Number.isNaN(value)) throw new Unreadable(`The field ${name + suffix} is not a number`);
    out[name] = value;
  }
  return out as T;
}

/** `d` for the decimal point, a leading `n` for the minus sign. */
function signed(value: number): string {
  return plain(value).replace('-', 'n').replace('.', 'd');
}

function placeParam(place: Place): string {
  if (typeof place === 'string') return encodeParam(place.trim().replace(/[\s_]+/g, '-'));
  const degrees = (value: number): string => plain(value).replace('.', 'd');
  return `${degrees(place.lat)}_${degrees(place.lon)}`;
}

/** A decimal without exponent, of at most 12 places. */
function plain(value: number): string {
  const text = String(value);
  if (!Number.isFinite(value)) throw new NameError('a number of the name is not finite');
  if (!text.includes('e')) return text;
  if (Math.abs(value) >= 1e21) throw new NameError('a number of the name is too large');
  return value.toFixed(12).replace(/\.?0+$/, '');
}

/** An address as one label: hyphens for dots and colons, `0` where it would begin or end with a hyphen. */
function addressLabel(address: string): string {
  const label = address.replace(/[.:]/g, '-');
  return `${label.startsWith('-') ? '0' : ''}${label}${label.endsWith('-') ? '0' : ''}`;
}
