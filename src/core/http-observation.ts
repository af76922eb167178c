/** One answered REST request, as the API reports it and metrics count it. */
export interface HttpObservation {
  /** The route's template, such as `/api/v1/records/:id`, never the URL; undefined or `unmatched` for unknown paths and methods. */
  readonly route: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}
