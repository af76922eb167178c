/** The sinks of a node without a database: batches go to control, which acknowledges them after its transaction. */
import { checkQueryLogBatch, type QueryLogSink, queryLogFormatError } from '../ports/query-log.ts';
import { sumsOf, type UsageSink, usageFormatError } from '../ports/usage-sink.ts';
import { queryLogBody, usageBody } from './meter-body.ts';
import { type Exchange, ExchangeError } from './node-end.ts';

/** Milliseconds until the sender repeats the batch. Control's transaction takes a few. */
const ACK_MS = 5_000;

/** The node of a batch is not sent: control takes the name that signed the request. */
export function busUsageSink(exchange: Exchange): UsageSink {
  return {
    async add(batch) {
      sumsOf(batch);
      const { status, body } = await exchange.ask('usage', usageBody(batch), ACK_MS);
      if (status === 'invalid') throw usageFormatError(body);
      if (status !== 'done') throw new ExchangeError(status);
    },
  };
}

/** The node of a batch is not sent: control takes the name that signed the request. */
export function busQueryLogSink(exchange: Exchange): QueryLogSink {
  return {
    async add(batch) {
      checkQueryLogBatch(batch);
      const { status, body } = await exchange.ask('rows', queryLogBody(batch), ACK_MS);
      if (status === 'invalid') throw queryLogFormatError(body);
      if (status !== 'done') throw new ExchangeError(status);
    },
  };
}
