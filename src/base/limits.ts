/** Every limit of the product: octets unless name or comment gives a unit. docs/operations/limits.md prints the table. */
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
  queryTokenDaysOfMember: 30, // minted by a member of an organization who is no owner
  queryTokensPerNamespace: 100,
  queryTokensListed: 500, // the newest of a namespace; older ones only until they end
  namespacesPerCustomer: 1000,
  apiKeysPerCustomer: 100,
  passkeyName: 100,
  passkeysPerUser: 20,
  passkeyCredentialId: 1023, // WebAuthn §5.8.3
  passkeyPublicKey: 1024, // COSE key: RSA of up to 7,000 bits
  passkeyChallengeMinutes: 5,
  passkeyChallengesPerUser: 100, // used in `passkeyChallengeMinutes`
  organizationName: 100,
  organizationsPerUser: 20,
  membersPerOrganization: 100, // invitations included
  invitationDays: 7,
  ttlSecondsMax: 2_147_483_647, // 31 bits (RFC 2181 §8)
  ttlSecondsDefault: 300,
  openTtlMax: 86_400, // seconds that caches may keep an answer of an open namespace; its owner chooses
  openTtlDefault: 60,
  historyVersions: 100, // of a record, kept by a namespace with history; its owner chooses
  historyDays: 365, // the same
  auditExamined: 5000, // rows of the audit log that a page looks through
  auditExports: 8, // streamed at once in one process, one of a person
  auditRows: 100_000, // of a customer; above it the oldest go, those of records first
  auditDays: 400, // the longest UQRP_AUDIT_DAYS
  auditRefusalsPerHour: 60, // rows of a customer for requests that were refused, and as many for sign-ins that failed; then one with a count
  auditRefusalsWaiting: 1000, // customers whose refusals wait to be written, in one process
  versionsPerRecord: 5, // versions of a customer, for each record of the tier; above it the oldest go
  expiresAtMax: 253_402_300_799_999, // 9999-12-31T23:59:59.999Z
  pageRecordsMax: 500,
  facetRows: 10_000, // records that one count by resource examines
  facetValues: 50,
  pageMax: 100,
  bulkItems: 500,
  importLine: 8192, // a line of `uqrp import`: twice a full record in Base64
  requestBody: 65_536, // the bulk route has `bulkBody`: 500 full records
  bulkBody: 4_194_304,
  bodyDepth: 32, // objects and arrays within each other; `bulkDepth`: in a bulk body
  bulkDepth: 8,
  bodyValues: 20_000, // JSON values of a body
  bodyOctets: 67_108_864, // of request bodies that a process holds; above it bodies wait unread
  bodyOctetsPerPerson: 8_388_608, // the same, of one person with all organizations
  bulks: 4, // at work at once; `bulksPerPerson`: of one person
  bulksPerPerson: 1,
  bodiesWaiting: 16, // of one person; above it, and after `bodyWaitMs`: 429
  bodyWaitMs: 10_000,
  discardedBody: 8_388_608, // announced length of a refused body that is still read: else a proxy may lose the answer
  listingPage: 65_536, // JSON of one batch: what a listing holds while its client does not read
  httpPipeline: 16, // requests of one HTTP/1.1 connection without an answer; the next one ends the connection
  unsentOctets: 67_108_864, // of answers of REST in one process that the system has not taken; above it who holds most loses a connection
  restConnections: 2048, // above it the network with the most gives way, or the new one is closed
  restQueries: 256, // DNS queries on the REST port in work at once; `restQueriesPerAddress`: of one address
  restQueriesPerAddress: 32,
  healthAnswerMs: 250, // that `/readyz` on UQRP_METRICS waits for the main thread; then it says what was last known
  healthMetricsMs: 10_000, // the same of `/metrics`; then it is 503
  healthStuckMs: 60_000, // without an answer of the main thread; then `/livez` there is 503
  healthConnections: 256, // on UQRP_METRICS; above it the network with the most gives way, or the new one is closed
  healthIdleMs: 15_000, // there, without an octet sent or taken; above `healthMetricsMs`, which is no idle time
  dashboardOctets: 8_388_608, // of its files, which are in memory
  documentOctets: 4_194_304, // of documents in memory, with their compressed forms; the one that was not asked for longest leaves
  listingsPerCustomer: 4, // streamed at once, of all customers of one person; `listings`: in one process
  listings: 64,
  pagesPerCustomer: 8, // above `listingPage` that one person reads at once; 1.3 MB each when the records are full
  pages: 32,
  placePatienceMs: 1000, // after which a client that takes nothing gives its place of a listing to one that has as many
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
  writeOctets: 262_144, // of a body: each part of this size that has begun is one write
  passkeyOptionsPerMinute: 10, // of one IPv4 address or IPv6 /64, and so are `passkeyResponsesPerMinute`
  passkeyResponsesPerMinute: 10,
  invitationsPerHour: 20, // of one user
  signInsPerMinute: 5, // of one IPv4 address or IPv6 /64
  signInsPerQuarterHour: 3, // for one mail address, from one IPv4 address or IPv6 /48, or from one browser that it has signed in from
  signInsPerDay: 10, // the same, of a network alone: else one network takes all of `signInCodesPerDay`
  signInCodesPerQuarterHour: 12, // for one mail address, from all networks; a browser that it has signed in from does not count
  signInCodesPerDay: 30, // the same, and for each such browser
  verificationsPerMinute: 10, // of one IPv4 address or IPv6 /64, without a flow that is open
  failedSignInsPerHour: 20, // of one IPv4 address or IPv6 /64
  failedSignInsPerDay: 100,
  passkeyOptionsPer48: 100, // of one IPv6 /48, and so are the others: ten times that of a /64
  passkeyResponsesPer48: 100,
  signInsPer48: 50,
  verificationsPer48: 100,
  failedSignInsPerHourPer48: 200,
  failedSignInsPerDayPer48: 1000,
  triesWithoutFlowPerHour: 10, // of one IPv4 address or IPv6 /64
  triesWithoutFlowPerHourPer48: 100,
  triesWithoutFlowPerDay: 30, // for one mail address
  signInCodeMinutes: 10,
  signInCodeTries: 5, // wrong ones with its flow, then the code is void
  signInCodes: 3, // of one mail address, side by side
  signInBrowsers: 20, // of one user, remembered; above it the oldest is forgotten
  signInBrowserDays: 400, // that a browser is remembered: the longest life of a cookie (RFC 6265bis §5.5)
  codeMails: 8, // mails with codes sent at once, of one process
  codeMailsWaiting: 1000, // and as many that wait for their next attempt; above it who has most gives way
  sessionsPerUser: 100, // above it the oldest ends
  mailAddress: 254, // RFC 5321 §4.5.3.1
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
  webhookRecent: 100, // attempts that its rate of success and its slowest duration count
  webhookHistoryDays: 7,
  webhookSecretsPerHour: 5,
  webhookTestsPerMinute: 10,
  feedBatchChanges: 1000, // changes in a batch of the feed
  feedBatchOctets: 900_000, // rows of a batch before compression
  feedStreamOctets: 120_000, // the same of a batch for all nodes: 512 of them wait at the broker for one node
  feedMessage: 1_000_000, // below the 1 MB that a broker takes by default
  feedSnapshot: 1_099_511_627_776, // the file of a view: its whole address space
  feedFile: 268_435_456, // a file that control sends to its nodes
  feedSnapshotPart: 524_288, // of the content of a snapshot, in one message
  feedSnapshotMinutes: 30, // between two snapshots
  feedSnapshotChanges: 20_000, // after the last snapshot, upon which the next one is made sooner
  feedSnapshotReserve: 104_857_600, // octets of the disk that the making of snapshots leaves: what `uqrp doctor` calls too little
  feedSnapshotBehindSeconds: 45, // that its view does not follow, after which it is removed
  feedSnapshotSilentMinutes: 90, // after which the process that makes them is killed and started again
  erasureHeldSeconds: 30, // that another process keeps deleted data in the files of SQLite, until the log tells of it
  usageBatchCounts: 1000, // counts in a batch that a node sends
  usageAnswersMax: 10_000_000_000, // of one namespace and hour in a batch
  queryLogBatchRows: 2000, // rows in a batch that a node sends
  queryLogRowsPerSecond: 2000, // that one worker records, and that a node passes on; further ones are dropped
  queryLogRowsWaiting: 10_000, // that a node could not pass on yet
  usageWaitingCounts: 100_000, // of a node; above it answers join an earlier hour of their namespace
  usageSpoolOctets: 16_777_216, // that a node takes over from the file of an earlier process; the oldest are lost above it
  feedNodeMessages: 200, // a second that control hears of one node; `feedNodeOctets`: of questions and answers. Five times as much at once
  feedNodeOctets: 4_194_304,
  usageSpoolDays: 6, // how long a node sends a batch, and how old its counts may be; `usageBatchDays`: how long control knows its id
  usageBatchDays: 7, // longer than `usageSpoolDays`: else a batch would be counted twice
  accountingNamespaces: 16_384, // whose counters one worker keeps at hand between two hand-overs
  queryLogDurationMs: 60_000, // longest time shown; a query that took longer shows it
  datasetSlug: 40,
  datasetVersion: 16,
  datasetLicense: 128, // UTF-8 in normal form C, as the other texts of datasets
  datasetProvenance: 256,
  datasetUrl: 2048,
  datasetManifestFile: 16_384, // JSON: every field at its bound, written with escapes
  datasetItemKey: 40,
  datasetText: 128, // each of issuer, brand and type
  datasetWindows: 64, // of one item
  datasetLine: 4096, // a line of an items file: every text at its bound, written with escapes
  datasetLines: 10_000_000,
  datasetVersions: 100, // served, of one dataset
  datasetChangeItems: 100, // items of one change
  datasetChange: 65_536, // JSON of one change: one item with all its windows fits
  logOrigin: 128, // characters: it stands in each checkpoint, and so in each proof
  logWitnessMs: 10_000, // of one question to a witness: name lookup, connection, TLS, answer
  logWitnessAnswer: 65_536, // of a witness of the transparency log; more is refused
  logText: 2607, // UTF-8 of a proof or checkpoint of the transparency log that nodes get: in Base64, with its fields, at most `txtValue`
  expiredKeys: 1_000_000, // of the records that expired within `expiredMinutes` whose queries a view shows as `expired`
  expiredMinutes: 10,
  queryLogHours: 24, // how long rows are listed
  queryLogDays: 30, // how long hours are counted
  queryLogPoints: 168, // steps of the counts
  countReads: 2, // of counts of queries at once, in turns by person; `countReadsWaiting`: that wait
  countReadsWaiting: 256,
  queryLogGroups: 10, // resources, namespaces or nodes in them; those with fewer queries are added up
  queryLogSplits: 50, // resources of a namespace, and nodes, that are counted by themselves; further ones are counted together
  queryLogResources: 2000, // resources of a customer that are
  queryLogStreamsPerCustomer: 3, // open at once, of all customers of one person; `queryLogStreams`: in one process
  queryLogStreams: 256,
  queryLogStreamRows: 200, // rows a second of one stream; more are skipped and counted
  changesPage: 100, // rows of a page of changes, unless asked for; at most `changesPageMax`
  changesPageMax: 500,
  changesExamined: 5000, // changes of a customer that one page looks through
  changesWaitS: 55, // seconds that a request waits for a change
  propagationWaitS: 30, // seconds that a request waits for the nodes
  changeWaitsPerCustomer: 10, // requests that wait at once; `changeWaits`: in one process
  changeWaits: 512,
  changeStreamsPerCustomer: 3, // open at once; `changeStreams`: in one process
  changeStreams: 256,
  changeStreamRows: 1000, // rows a second of one stream
  changeStreamPage: 100, // rows that a stream reads at once while it is behind
  changePagesAtOnce: 4, // of streams that are behind; each reads its next page when its turn comes
  flagsPerMinute: 6000, // evaluations of one IPv4 address or IPv6 /64; `flagsPerMinuteOfNamespace`: of a namespace, in one process
  flagsPerMinuteOfNamespace: 60_000,
  flagCharge: 400_000, // octets of flags in memory, about, for each of which an answer with all flags counts as one evaluation
  flagBody: 16_384, // body of an evaluation
  flagContextDepth: 5, // objects and arrays within each other in the context of an evaluation, which is the first
  flagContextText: 1024, // of one text or name in it
  flagsOfNamespace: 1000, // that are answered together; `flagsAnswer`: their answer
  flagsAnswer: 1_048_576,
  flagNamespaces: 1000, // whose flags one process keeps; `flagOctets`: of memory, about
  flagOctets: 67_108_864,
  flagKeys: 10_000, // API keys of evaluations that one process keeps
  flagsWithoutStoreMs: 3_600_000, // that evaluations go on while the database is away
  flagWaitMs: 2000, // that an evaluation waits for the state of the flags that it names; `flagWaits`: at once in one process
  flagWaits: 1000,
  flagStreamsOfNamespace: 500, // open at once; `flagStreamsPerAddress`: of an IPv4 address or IPv6 /64, `flagStreams`: in one process
  flagStreamsPerAddress: 32,
  flagStreams: 1000,
  flagEventMs: 1000, // between two events of a stream
  applyFiles: 100_000, // files of a directory that `uqrp apply` reads
  runOctets: 1_048_576, // keys and payloads that `uqrp run` gives to a program; a system takes about 2 MB
  applyFreeDeletions: 10, // deletions of `apply --prune` that need no --max-deletes, or `applyFreePercent` of what could be deleted
  applyFreePercent: 20,
  queryLogResumeRows: 20_000, // rows of all customers that a stream looks through after Last-Event-ID
  usageDays: 400, // how long hourly sums are kept
  udpPayload: 1232, // advertised, and never exceeded over UDP (RFC 9715)
  dnsMessage: 65_535, // sent over any transport
  udpMisses: 1024, // waiting UDP queries of one worker; above it or `udpMissOctets` new ones are dropped
  udpMissOctets: 1_048_576,
  signaturesPerSecond: 2000, // rrsets signed by one worker; cached signatures are free, computed answers of `sun` and `moon` are not
  signingQueue: 1000,
  tcpIdleMs: 10_000, // idle time of a TCP connection (RFC 7766 §6.2.3)
  tcpConnections: 4096, // of each of TCP, DoT and DoH, all workers together
  tcpConnectionsPerAddress: 100, // TCP and DoT together, and DoH: of one IPv4 address or IPv6 /64
  tcpConnectionsPer56: 200,
  tcpConnectionsPer48: 400,
  proxyHeader: 536, // the header of a proxy in UQRP_PROXY_PROTOCOL
  proxyHeaders: 1024, // connections of a listener of one worker that wait for it; above it the oldest is closed
  tlsHandshakeMs: 3000, // `tlsHandshakeCrowdedMs`: while many connections are open
  tlsHandshakeCrowdedMs: 1000,
  tcpPipeline: 128, // queries in flight on one connection; above it reading pauses
  streamQueriesPerSecond: 1000, // of one IPv4 address or IPv6 /64, TCP and DoT together; above it reading pauses
  dohBody: 65_535,
  dohUnsentOctets: 16_777_216, // the same of replies over HTTP/2 in one DNS worker
  dohStreams: 100,
  dohRequestsPerMinute: 6000, // of one IPv4 address or IPv6 /64
  witnessBody: 135_168, // what a log sends to a witness: 63 hashes, and the longest checkpoint
  witnessConnections: 256, // open to a witness; above it the network with the most gives way, or the new one is closed
  witnessRequestMs: 10_000, // for a whole request, for its answer to be taken, and idle time of a connection
  monitorEntries: 10_000_000, // of a transparency log that `uqrp log audit` reads
  monitorAlarms: 100, // of each kind in one round that it tells; further ones are counted
  monitorEvidence: 1000, // folders of evidence that it keeps of each kind of alarm
  monitorRoundMs: 3_600_000, // of one round: slow tiles and an endless listing end there
} as const;

export const TIERS = {
  free: { records: 1_000, webhooks: 0, allowance: 100_000 },
  pro: { records: 50_000, webhooks: 5, allowance: 5_000_000 },
  team: { records: 500_000, webhooks: 20, allowance: 50_000_000 },
  enterprise: { records: 1_000_000, webhooks: 100, allowance: 500_000_000 },
} as const;

export type Tier = keyof typeof TIERS;

export function isTier(text: string): text is Tier {
  return Object.hasOwn(TIERS, text);
}
