/** Answers of the public services, field for field (docs/SERVICES.md). */

export interface Weather {
  readonly tc: number;
  readonly tf: number;
  readonly ts: number;
}

/** A day of a forecast. */
export interface ForecastDay {
  readonly d: string;
  readonly hc: number;
  readonly lc: number;
  readonly hf: number;
  readonly lf: number;
  readonly wc: number;
  /** The code in words. */
  readonly wx: string;
  readonly pp?: number;
}

export interface Forecast {
  readonly loc: string;
  readonly days: readonly ForecastDay[];
  readonly ts: number;
}

export interface StockQuote {
  readonly sym: string;
  readonly exchref?: string;
  readonly exchsrc?: string;
  readonly exchasof?: string;
  readonly prc: number;
  readonly chg: number;
  readonly pct: number;
  readonly vol?: number;
  readonly opn: number;
  readonly hi: number;
  readonly lo: number;
  readonly h52?: number;
  readonly l52?: number;
  readonly pe?: number;
  readonly div?: number;
  readonly ts: number;
}

export interface ForexRate {
  readonly base: string;
  readonly quote: string;
  readonly rate: number;
  readonly asof: string;
  readonly ts: number;
}

export interface CryptoPrice {
  readonly sym: string;
  readonly quote: string;
  readonly prc: number;
  readonly chg?: number;
  readonly pct?: number;
  readonly vol: number;
  readonly ts: number;
}

export interface AddressLocation {
  readonly ip: string;
  readonly cc?: string;
  readonly country?: string;
  readonly region?: string;
  readonly city?: string;
  readonly lat?: number;
  readonly lon?: number;
  readonly tz?: string;
  readonly asn?: number;
  readonly org?: string;
  readonly ts: number;
}

export interface Conversion {
  readonly val: number;
  readonly from: string;
  readonly to: string;
  readonly res: number;
  readonly cat: string;
}

export interface SunTimes {
  readonly loc: string;
  readonly date: string;
  readonly rise?: string;
  readonly set?: string;
  readonly noon: string;
  readonly dawn?: string;
  readonly dusk?: string;
  readonly len: number;
  readonly state: string;
  readonly ts: number;
}

export interface MoonPhase {
  readonly date: string;
  readonly phase: string;
  readonly illum: number;
  readonly age: number;
  readonly ts: number;
}

export type Kind = 'text' | 'number' | 'text?' | 'number?';

type KindOf<T> = T extends number ? 'number' : 'text';

/** The kind of each field of a type; the compiler compares the two. */
export type KindsOf<T> = {
  readonly [Name in keyof T]-?: object extends Pick<T, Name>
    ? `${KindOf<NonNullable<T[Name]>>}?`
    : KindOf<T[Name]>;
};

interface ServiceFields {
  readonly weather: KindsOf<Weather>;
  readonly stock: KindsOf<StockQuote>;
  readonly forex: KindsOf<ForexRate>;
  readonly crypto: KindsOf<CryptoPrice>;
  readonly geoip: KindsOf<AddressLocation>;
  readonly units: KindsOf<Conversion>;
  readonly sun: KindsOf<SunTimes>;
  readonly moon: KindsOf<MoonPhase>;
}

/** The fields of each service and their kinds; `?`: only where known. */
export const SERVICE_FIELDS: ServiceFields = {
  weather: { tc: 'number', tf: 'number', ts: 'number' },
  stock: {
    sym: 'text',
    exchref: 'text?',
    exchsrc: 'text?',
    exchasof: 'text?',
    prc: 'number',
    chg: 'number',
    pct: 'number',
    vol: 'number?',
    opn: 'number',
    hi: 'number',
    lo: 'number',
    h52: 'number?',
    l52: 'number?',
    pe: 'number?',
    div: 'number?',
    ts: 'number',
  },
  forex: { base: 'text', quote: 'text', rate: 'number', asof: 'text', ts: 'number' },
  crypto: {
    sym: 'text',
    quote: 'text',
    prc: 'number',
    chg: 'number?',
    pct: 'number?',
    vol: 'number',
    ts: 'number',
  },
  geoip: {
    ip: 'text',
    cc: 'text?',
    country: 'text?',
    region: 'text?',
    city: 'text?',
    lat: 'number?',
    lon: 'number?',
    tz: 'text?',
    asn: 'number?',
    org: 'text?',
    ts: 'number',
  },
  units: { val: 'number', from: 'text', to: 'text', res: 'number', cat: 'text' },
  sun: {
    loc: 'text',
    date: 'text',
    rise: 'text?',
    set: 'text?',
    noon: 'text',
    dawn: 'text?',
    dusk: 'text?',
    len: 'number',
    state: 'text',
    ts: 'number',
  },
  moon: { date: 'text', phase: 'text', illum: 'number', age: 'number', ts: 'number' },
};

/** The fields of one day of a forecast; each has the number of the day behind it: `hc0`. */
export const FORECAST_DAY: KindsOf<ForecastDay> = {
  d: 'text',
  hc: 'number',
  lc: 'number',
  hf: 'number',
  lf: 'number',
  wc: 'number',
  wx: 'text',
  pp: 'number?',
};
