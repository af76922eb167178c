import { call, join } from '../providers/sources/call.ts';
import type { KeyedEndpoint } from '../providers/sources/endpoints.ts';
import { jsonOf } from '../providers/sources/parse.ts';
import type { Fetched, Source, SourceContext } from '../providers/sources/source.ts';
import type { Quote } from './quote.ts';

interface QuoteApi extends Pick<Source<Quote>, 'name' | 'limits'> {
  readonly keyParameter: string;
  /** Statuses for an unknown symbol. */
  readonly missing?: readonly number[];
  readonly parse: (data: unknown) => Fetched<Quote>;
}

/** A source that answers `GET /quote?symbol=...` with JSON and takes its key as a query parameter. */
export function keyedQuotes(
  { base, key: apiKey }: KeyedEndpoint,
  { outbound, agent }: SourceContext,
  { name, limits, keyParameter, missing = [], parse }: QuoteApi,
): Source<Quote> {
  return {
    name,
    limits,
    async load(key, _validator, now) {
      const query = `symbol=${encodeURIComponent(key)}&${keyParameter}=${encodeURIComponent(apiKey)}`;
      const called = await call(join(base, `/quote?${query}`), { outbound, agent, now, missing });
      if (called.kind !== 'body') return called.kind === 'unchanged' ? { kind: 'failed' } : called;
      return parse(jsonOf(called.text));
    },
  };
}
