/** Rows of the query log on their way from a node: nothing in them is a name, a parameter or a token, and nobody's question has labels. */
import type { QueryLogBatch, QueryLogSink } from '../../../src/feed/ports/query-log.ts';
import { InvariantError } from '../invariants.ts';
import type { Names } from './names.ts';

const MEMBERS = 'at,durationMs,namespaceId,operation,qtype,rcode,resource,status,transport,version';
/** Of questions for which a valid token was shown, or none was needed. */
const AUTHORISED: ReadonlySet<string> = new Set(['hit', 'miss', 'expired']);
/** Of every record here. */
const RESOURCES: ReadonlySet<string> = new Set(['doc', 'flags']);

/** @param answered answers that the node has given so far */
export function privateRows(
  sink: QueryLogSink,
  names: Names,
  answered: () => number,
  wrong: (error: unknown) => void,
): QueryLogSink {
  const batches = new Set<string>();
  let rows = 0;
  return {
    add(batch) {
      if (!batches.has(batch.batch)) rows += batch.rows.length;
      batches.add(batch.batch);
      const fault = faultOf(batch, names) ?? (rows > answered() ? `${rows} of ${answered()} answers` : null);
      if (fault !== null) wrong(new InvariantError(`query log: ${fault}`));
      return sink.add(batch);
    },
  };
}

function faultOf(batch: QueryLogBatch, names: Names): string | null {
  const text = JSON.stringify(batch).toLowerCase();
  for (const namespace of names.namespaces) {
    if (text.includes(`"${namespace}"`)) return 'the name of a namespace';
    if (names.tokensOf(namespace).some((token) => text.includes(token.toLowerCase()))) return 'a token';
    if (names.keysOf(namespace).some((key) => text.includes(key))) return 'a key';
  }
  for (const row of batch.rows) {
    if (Object.keys(row).toSorted().join() !== MEMBERS) return `members ${Object.keys(row).join()}`;
    if (row.resource !== null && !AUTHORISED.has(row.status))
      return `labels of a question that was ${row.status}`;
    // What stands before it is a parameter.
    if (row.resource !== null && !RESOURCES.has(row.resource)) return `resource ${row.resource}`;
  }
  return null;
}
