declare module 'autocannon' {
  interface Client {
    setBody(body: string): void;
    on(event: 'response', listener: () => void): void;
  }
  interface Options {
    url: string;
    connections: number;
    duration: number;
    method: string;
    headers: Record<string, string>;
    setupClient(client: Client): void;
  }
  interface Result {
    '2xx': number;
    non2xx: number;
    /** Seconds. */
    duration: number;
  }
  function autocannon(options: Options): Promise<Result>;
  export = autocannon;
}
