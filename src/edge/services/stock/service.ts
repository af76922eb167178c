import { malformed, malformedWithEnvelope } from '../answers.ts';
import { type FlatFields, PERCENT_PLACES, rounded } from '../flat.ts';
import { after, outcomeOf } from '../providers/outcome.ts';
import type { Providers } from '../providers/worker/worker-providers.ts';
import type { Service } from '../service.ts';
import { type ExchangeMap, isCurrent } from './exchange-map.ts';
import type { Quote } from './quote.ts';
import { STOCK_ABOUT, STOCK_TTL } from './schema.ts';
import { parseStockLabel, type StockLabel } from './ticker.ts';

/** Milliseconds. An import may fix the fault at any moment. */
const FAULT_MS = 1000;

/** `get.<TICKER>[-x-<MIC>].stock`. Every fault of a pinned exchange is the same FORMERR, so it does not reveal its cause. */
export function makeStock(providers: Providers, exchanges: () => ExchangeMap | null): Service {
  return {
    resource: 'stock',
    operation: 'get',
    enabled: providers.has('stock'),
    about: STOCK_ABOUT,
    answer([label, ...more], now) {
      if (label === undefined) return malformed('parameter');
      const asked = more.length > 0 ? null : parseStockLabel(label);
      if (asked === null) return malformed('ticker');
      if (asked === 'unusable') return malformedWithEnvelope('ticker', now + FAULT_MS);
      const provenance = provenanceOf(asked, exchanges(), now);
      if (asked.mic !== null && provenance?.exchref !== asked.mic) {
        return malformedWithEnvelope('ticker', now + FAULT_MS);
      }
      return after(providers.ask('stock', asked.ticker, now), (reading) =>
        outcomeOf(reading, now, STOCK_TTL, (quote) => fieldsOf(asked, provenance, quote)),
      );
    },
  };
}

/** All three or none. */
interface Provenance {
  readonly exchref: string;
  readonly exchsrc: string;
  readonly exchasof: string;
}

function provenanceOf({ ticker }: StockLabel, map: ExchangeMap | null, now: number): Provenance | null {
  const mic = map?.listed.get(ticker);
  if (map === null || mic === undefined || !isCurrent(map, now)) return null;
  return { exchref: mic, exchsrc: map.tag, exchasof: map.asof };
}

function fieldsOf({ ticker }: StockLabel, provenance: Provenance | null, quote: Quote): FlatFields {
  return {
    sym: ticker,
    ...provenance,
    prc: quote.price,
    chg: quote.change,
    pct: rounded(quote.percent, PERCENT_PLACES),
    vol: quote.volume ?? undefined,
    opn: quote.open,
    hi: quote.high,
    lo: quote.low,
    h52: quote.yearHigh ?? undefined,
    l52: quote.yearLow ?? undefined,
    ttl: STOCK_TTL,
  };
}
