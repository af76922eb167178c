import type { Outcome } from '../../../core/query/outcome.ts';
import type { Query } from '../../../core/query/query.ts';

/**
 * A public service. It gets the query, its zone and the time, and nothing about the client: the answer depends on the name
 * alone.
 */
export interface PublicService {
  /** The resource label that selects it. */
  readonly resource: string;
  /** What `info.<resource>` answers: its schema. @param zone the zone that was asked, for names in the text */
  info(zone: string): Outcome;
  /** Asked with any operation but `info`. */
  answer(query: Query, now: number, zone: string): Outcome | Promise<Outcome>;
}
