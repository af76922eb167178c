import type { Outcome } from '../../../protocol/query/outcome.ts';
import type { Query } from '../../../protocol/query/query.ts';

/** A public service. It learns nothing about the client, so its answer depends on the name alone. */
export interface PublicService {
  readonly resource: string;
  /** Signatures that take about as long as computing an answer. */
  readonly work?: number;
  /** The schema, for `info.<resource>`. `zone` appears in the names of its text. */
  info(zone: string): Outcome;
  /** Called for every operation except `info`. */
  answer(query: Query, now: number, zone: string): Outcome | Promise<Outcome>;
}
