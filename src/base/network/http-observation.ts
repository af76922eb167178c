export interface HttpObservation {
  /** The route template, such as `/api/v1/records/:id`, never the URL. Undefined or `unmatched`: no route. */
  readonly route: string | undefined;
  readonly method: string;
  readonly status: number;
  readonly seconds: number;
}
