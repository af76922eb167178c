declare module 'autocannon' {
  interface Request {
    method: string;
    path: string;
    headers: Record<string, string>;
    body?: string;
  }
  interface Options {
    url: string;
    connections: number;
    duration: number;
    /** Requests a second of all connections together. */
    overallRate?: number;
    requests: readonly {
      method: string;
      setupRequest(request: Request): Request;
    }[];
  }
  interface Result {
    '2xx': number;
    non2xx: number;
  }
  function autocannon(options: Options): Promise<Result>;
  export = autocannon;
}
