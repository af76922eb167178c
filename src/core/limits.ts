/**
 * Every limit of the product. Each has a test on both sides of it; docs/OPERATIONS.md prints this table and a test
 * compares the two. Bytes, unless the name says otherwise.
 */
export const LIMITS = {
  /** Decoded bytes of a record. */
  recordData: 2586,
  /** One DNS label (RFC 1035 §2.3.4). */
  label: 63,
  /** A query name in text, without the trailing dot. */
  queryName: 253,
  /** A zone's full name: two labels of full length, and room for every key of a usual length below it. */
  zoneName: 127,
  /** A rendered TXT value, and a schema served over DNS. */
  txtValue: 3500,
  /** One character string of a TXT record (RFC 1035 §3.3). */
  txtChunk: 255,
  namespaceNameMin: 3,
  namespaceNameMax: 32,
  contentType: 127,
  apiKeyName: 100,
  apiKeyNamespaces: 100,
  /** Items of `scopes.operations` in a request, repetitions included. */
  scopeOperations: 100,
  queryTokenName: 100,
  queryTokenDaysMax: 365,
  queryTokenDaysDefault: 30,
  queryTokensPerNamespace: 100,
  namespacesPerCustomer: 1000,
  apiKeysPerCustomer: 100,
  /** Largest `ttl_seconds`: DNS TTLs are 31 bits (RFC 2181 §8). */
  ttlSecondsMax: 2_147_483_647,
  ttlSecondsDefault: 300,
  /** Latest storage expiry: 9999-12-31T23:59:59.999Z. */
  expiresAtMax: 253_402_300_799_999,
  pageRecordsMax: 500,
  pageMax: 100,
  bulkItems: 500,
  /** A line of a file that `uqrp import` reads: twice a record of full size in Base64. */
  importLine: 8192,
  /** A REST request body; the bulk route has its own, 500 records of full size. */
  requestBody: 65_536,
  bulkBody: 4_194_304,
  /** A batch of a listing or page, in octets of JSON: what a listing holds while its reader does not read. */
  listingPage: 65_536,
  /** Connections of the REST server; above it new ones are closed at once. */
  restConnections: 1024,
  /** Listings without `limit` that are being streamed at once: of one customer, and in one process. */
  listingsPerCustomer: 4,
  listings: 64,
  /** Pages of records that are being read at once: of one customer, and in one process. A page of full records is 1.3 MB in memory. */
  pagesPerCustomer: 8,
  pages: 32,
  /** Milliseconds in which the reader of records must take a chunk, a whole page, and a whole listing without `limit`. */
  listingIdleMs: 10_000,
  pageMs: 60_000,
  listingMs: 600_000,
  /** Characters of an `Idempotency-Key`, and hours that its answer is kept. */
  idempotencyKey: 255,
  idempotencyHours: 24,
  /** Kept answers of one customer: more than 24 hours of writes, and their octets. */
  idempotencyKeys: 15_000,
  idempotencyOctets: 33_554_432,
  /** Unauthenticated REST requests a minute per address (IPv4) or /64 (IPv6). */
  unauthenticatedPerMinute: 100,
  authenticatedPerMinute: 1000,
  writesPerMinute: 60,
  writesPerHour: 600,
  webhookName: 100,
  webhookUrl: 2048,
  webhookNamespaces: 100,
  /** Items of `events` in a request, repetitions included. */
  webhookEvents: 100,
  /** A delivery's body; above it the delivery is dropped. */
  webhookBody: 16_384,
  /** Deliveries of one webhook that wait; above it further ones are dropped. */
  webhookPending: 1000,
  /** Dropped deliveries of one webhook that a single hour keeps in its history. */
  webhookDroppedKept: 1000,
  /** Attempts of one webhook in an hour; above it deliveries are dropped. */
  webhookAttemptsPerHour: 600,
  /** Failed attempts in a row after which a webhook is disabled. */
  webhookFailures: 20,
  /** Milliseconds for one attempt: names, connection, TLS and response head. */
  webhookDeadlineMs: 5000,
  /** Longest rest of a webhook after a failed attempt, milliseconds. */
  webhookRestMaxMs: 60_000,
  /** Deliveries under way in one process. */
  webhookWorkers: 64,
  /** Those of one customer among them, the reserve aside; fewer while other customers wait. */
  webhookWorkersPerCustomer: 32,
  /** Delivery workers reserved for webhooks whose last attempt was fast, and those of one customer among them. */
  webhookWorkersReserved: 16,
  webhookReservedPerCustomer: 2,
  /** An attempt that takes less is fast, milliseconds. */
  webhookFastMs: 1000,
  webhookHistoryDays: 7,
  webhookSecretsPerHour: 5,
  webhookTestsPerMinute: 10,
  /** Payload that we advertise, and never exceed on UDP (RFC 9715). */
  udpPayload: 1232,
  /** A DNS message over any transport that we would send. */
  dnsMessage: 65_535,
  /** Queries over UDP that wait for work in one DNS worker, and their octets together; above either, further ones are dropped. */
  udpMisses: 1024,
  udpMissOctets: 1_048_576,
  /** Rrsets that one DNS worker signs in a second, and questions that wait for it; signatures from the cache are free. */
  signaturesPerSecond: 2000,
  signingQueue: 1000,
  /** Idle time of a TCP connection, milliseconds (RFC 7766 §6.2.3). */
  tcpIdleMs: 10_000,
  /** Open connections over each of TCP, DoT and DoH, of all DNS workers together. */
  tcpConnections: 4096,
  /** Of those, over TCP and DoT together, and over DoH: of one IPv4 address or IPv6 /64, of a /56 and of a /48. */
  tcpConnectionsPerAddress: 100,
  tcpConnectionsPer56: 200,
  tcpConnectionsPer48: 400,
  /** Milliseconds for a TLS handshake, and for one while the listener is crowded. */
  tlsHandshakeMs: 3000,
  tlsHandshakeCrowdedMs: 1000,
  /** Queries in flight on one TCP connection; above it reading pauses. */
  tcpPipeline: 128,
  /** Queries a second of an IPv4 address or IPv6 /64, over TCP and DoT together; above it reading pauses. */
  streamQueriesPerSecond: 1000,
  dohBody: 65_535,
  dohStreams: 100,
  /** Requests a minute of an IPv4 address or IPv6 /64. */
  dohRequestsPerMinute: 6000,
} as const;
