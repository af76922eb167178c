/** Every limit of the product: octets unless name or comment gives a unit. docs/OPERATIONS.md prints the table. */
export const LIMITS = {
  recordData: 2586, // decoded
  label: 63, // RFC 1035 §2.3.4
  queryName: 253, // text, without the trailing dot
  zoneName: 127, // two labels of full length, so that usual keys fit below the zone
  txtValue: 3500, // also a schema served over DNS
  txtChunk: 255, // RFC 1035 §3.3
  namespaceNameMin: 3,
  namespaceNameMax: 32,
  contentType: 127,
  apiKeyName: 100,
  apiKeyNamespaces: 100,
  scopeOperations: 100, // repetitions included
  queryTokenName: 100,
  queryTokenDaysMax: 365,
  queryTokenDaysDefault: 30,
  queryTokensPerNamespace: 100,
  namespacesPerCustomer: 1000,
  apiKeysPerCustomer: 100,
  ttlSecondsMax: 2_147_483_647, // 31 bits (RFC 2181 §8)
  ttlSecondsDefault: 300,
  expiresAtMax: 253_402_300_799_999, // 9999-12-31T23:59:59.999Z
  pageRecordsMax: 500,
  pageMax: 100,
  bulkItems: 500,
  importLine: 8192, // a line of `uqrp import`: twice a full record in Base64
  requestBody: 65_536, // the bulk route has `bulkBody`: 500 full records
  bulkBody: 4_194_304,
  listingPage: 65_536, // JSON of one batch: what a listing holds while its client does not read
  restConnections: 1024, // above it the server closes new connections
  listingsPerCustomer: 4, // streamed at once, of one customer; `listings`: in one process
  listings: 64,
  pagesPerCustomer: 8, // read at once; 1.3 MB each when the records are full
  pages: 32,
  listingIdleMs: 10_000, // for one chunk; `pageMs`: a page; `listingMs`: a streamed listing
  pageMs: 60_000,
  listingMs: 600_000,
  idempotencyKey: 255, // characters
  idempotencyHours: 24,
  idempotencyKeys: 15_000, // of one customer: more than 24 hours of writes
  idempotencyOctets: 33_554_432,
  unauthenticatedPerMinute: 100, // of one IPv4 address or IPv6 /64
  authenticatedPerMinute: 1000,
  writesPerMinute: 60,
  writesPerHour: 600,
  webhookName: 100,
  webhookUrl: 2048,
  webhookNamespaces: 100,
  webhookEvents: 100, // repetitions included
  webhookBody: 16_384, // above it the delivery is dropped
  webhookPending: 1000, // waiting deliveries of one webhook; above it new ones are dropped
  webhookDroppedKept: 1000, // of one webhook in one hour
  webhookAttemptsPerHour: 600, // above it deliveries are dropped
  webhookFailures: 20, // failed attempts in a row that disable a webhook
  webhookDeadlineMs: 5000, // of one attempt: name lookup, connection, TLS, response head
  webhookRestMaxMs: 60_000, // longest pause of a webhook after a failed attempt
  webhookWorkers: 64, // deliveries under way in one process
  webhookWorkersPerCustomer: 32, // without the reserve; fewer while other customers wait
  webhookWorkersReserved: 16, // for webhooks whose last attempt was fast
  webhookReservedPerCustomer: 2,
  webhookFastMs: 1000, // a shorter attempt is fast
  webhookHistoryDays: 7,
  webhookSecretsPerHour: 5,
  webhookTestsPerMinute: 10,
  usageBatchCounts: 1000, // counts in a batch that a node sends
  usageAnswersMax: 10_000_000_000, // of one namespace and hour in a batch
  udpPayload: 1232, // advertised, and never exceeded over UDP (RFC 9715)
  dnsMessage: 65_535, // sent over any transport
  udpMisses: 1024, // waiting UDP queries of one worker; above it or `udpMissOctets` new ones are dropped
  udpMissOctets: 1_048_576,
  signaturesPerSecond: 2000, // rrsets signed by one worker; cached signatures are free
  signingQueue: 1000,
  tcpIdleMs: 10_000, // idle time of a TCP connection (RFC 7766 §6.2.3)
  tcpConnections: 4096, // of each of TCP, DoT and DoH, all workers together
  tcpConnectionsPerAddress: 100, // TCP and DoT together, and DoH: of one IPv4 address or IPv6 /64
  tcpConnectionsPer56: 200,
  tcpConnectionsPer48: 400,
  tlsHandshakeMs: 3000, // `tlsHandshakeCrowdedMs`: while many connections are open
  tlsHandshakeCrowdedMs: 1000,
  tcpPipeline: 128, // queries in flight on one connection; above it reading pauses
  streamQueriesPerSecond: 1000, // of one IPv4 address or IPv6 /64, TCP and DoT together; above it reading pauses
  dohBody: 65_535,
  dohStreams: 100,
  dohRequestsPerMinute: 6000, // of one IPv4 address or IPv6 /64
} as const;
