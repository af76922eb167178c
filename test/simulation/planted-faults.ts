import type { PlantedText } from '../../scripts/plant.ts';

export interface PlantedFault extends PlantedText {
  /** What the world says when it finds it. */
  readonly finds: RegExp;
  /** What a customer or operator would have seen. */
  readonly why: string;
  /** It is looked for with small limits. */
  readonly small?: true;
}

/** Within so many seeds, from 1 on, each is found. */
export const PLANTED_SEEDS = 200;

const LOG = /serves what the log does not have|ModelError: n\d answers/;
const BOGUS = /a resolver that validates refuses/;
const ANSWERS = /answers what its view does not have|ModelError: n\d answers/;

/** Faults that are put into the code one at a time, to see that the world finds them. */
export const PLANTED_FAULTS: Readonly<Record<string, PlantedFault>> = {
  'sleep-through-wake-ups': {
    why: 'a backoff of up to ten seconds that no wake-up ends',
    file: 'src/base/lifecycle/loop.ts',
    from: 'await waker.wait(backoffMs(failures, backoff) - backoff.firstMs);',
    to: 'await waker.sleep(backoffMs(failures));',
    finds: /^not at rest/,
  },
  'clear-while-serving': {
    why: 'a rebuild empties the view that serves',
    file: 'test/support/view/memory-view.ts',
    from: '      const staged = emptyState();',
    to: '      const staged = emptyState(); replaceAll(state, { ...staged, maxTtls: state.maxTtls });',
    // A packet cache may still have an answer that the emptied view lacks.
    finds: /refuses an existing name|answers what its view does not have|ModelError: n\d answers/,
  },
  'same-epoch-after-restore': {
    why: 'a restored backup is the same log to everybody',
    file: 'test/simulation/database.ts',
    from: 'await truth.write((tx) => renewEpoch(tx, scheduler.now()));',
    to: '',
    finds: /^not at rest|serves what was erased|refuses an existing name/,
  },
  'usage-added-twice': {
    why: 'a batch of usage that comes again is added again',
    file: 'src/store/usage.ts',
    from: 'if ((await ADD_BATCH.all(tx, { node, batch: id, now: clock() })).length === 0) return;',
    to: 'await ADD_BATCH.all(tx, { node, batch: id, now: clock() });',
    finds: /^usage: \d+ answers were counted of/,
  },
  'append-without-sequence': {
    why: 'two publishers append at the same place of the stream',
    file: 'test/support/feed/bus/memory-bus.ts',
    from: '!isLost && expectedLast !== lastSeq',
    to: '!isLost && expectedLast < 0',
    finds: /^stream: /,
  },
  'counters-before-commit': {
    why: 'a cache keeps the old answer under the new count, until the next change of the name',
    file: 'src/view/freshness.ts',
    from: '    const end = freshness.begin(changes);\n    try {',
    to: '    freshness.begin(changes)();\n    const end = () => {};\n    try {',
    finds: ANSWERS,
  },
  'counters-after-commit': {
    why: 'one name is answered from the commit, and the next one from a cache of before it',
    file: 'src/view/freshness.ts',
    from: 'const end = freshness.begin(changes);',
    to: 'const end = () => freshness.begin(changes)();',
    finds: ANSWERS,
  },
  'count-after-read': {
    why: 'the same from the other side: a change between reading and counting',
    file: 'src/dns/query/packet.ts',
    from: 'const counted = { from: now, ...countersOf(to) };\n    view.refresh();\n    const answer = respond(request, to, options, now, transport);',
    to: 'view.refresh();\n    const answer = respond(request, to, options, now, transport);\n    const counted = { from: now, ...countersOf(to) };',
    finds: ANSWERS,
  },
  'count-after-refresh': {
    why: 'a change between the refresh of the view and the count',
    file: 'src/dns/query/packet.ts',
    from: 'const counted = { from: now, ...countersOf(to) };\n    view.refresh();',
    to: 'view.refresh();\n    const counted = { from: now, ...countersOf(to) };',
    finds: ANSWERS,
  },
  'private-answer-without-end': {
    why: 'a private record is served from a cache after its expiry',
    file: 'src/dns/query/resolve.ts',
    from: 'until: Math.min(expiresAt, expiresAt - ttl * 1000 + 1) }',
    to: 'until: maxTtl === 0 ? FOREVER : Math.min(expiresAt, expiresAt - ttl * 1000 + 1) }',
    finds: ANSWERS,
  },
  'token-without-end': {
    why: 'an answer for a token is served from a cache after the end of the token',
    file: 'src/dns/query/resolve.ts',
    from: 'until: Math.min(outcome.until, until)',
    to: 'until: outcome.until',
    finds: ANSWERS,
  },
  'token-expiry-not-checked': {
    why: 'a token opens its namespace for ever',
    file: 'src/dns/query/resolve.ts',
    from: '    token.expiresAt > now;',
    to: '    token.expiresAt > 0;',
    finds: ANSWERS,
  },
  'stale-precondition-holds': {
    why: 'a customer overwrites what another one has written since, though he asked for the opposite',
    file: 'src/control/records/rules.ts',
    from: 'if (condition !== undefined && !condition(recordTag(row.updated_at))) {',
    to: 'if (condition !== undefined && !condition(recordTag(row.updated_at)) && now < 0) {',
    finds: /^ModelError: (PATCH|DELETE) .* is answered 20\d: it was another one/,
  },
  'token-of-another-namespace': {
    why: 'a token opens namespaces of other customers',
    file: 'src/dns/query/resolve.ts',
    from: 'token?.namespace === query.namespace &&',
    to: 'token != null &&',
    finds: ANSWERS,
  },
  'expired-record-served': {
    why: 'a record is served between its expiry and the sweep',
    file: 'src/dns/query/resolve.ts',
    from: 'if (expiresAt !== null && expiresAt <= now) return EXPIRED;',
    to: '',
    finds: ANSWERS,
  },
  'ttl-beyond-expiry': {
    why: 'resolvers keep a public record after its expiry',
    file: 'src/dns/query/resolve.ts',
    from: 'const ttl = Math.min(maxTtl, Math.floor((expiresAt - now) / 1000));',
    to: 'const ttl = maxTtl;',
    finds: ANSWERS,
  },
  'every-usage-failure-is-a-refusal': {
    why: 'answers are not counted when control is away for a moment',
    file: 'src/dns/accounting/node-accounting.ts',
    from: 'isRefused: (error) => error instanceof UsageFormatError,',
    to: 'isRefused: () => true,',
    finds: /^usage: \d+ answers are missing/,
  },
  'revocation-not-announced': {
    why: 'a cache answers a revoked token',
    file: 'src/view/freshness.ts',
    from: "({ type }) => type !== 'dataset.items'",
    to: "({ type }) => type !== 'dataset.items' && type !== 'token.revoked'",
    finds: ANSWERS,
  },
  'all-namespaces-public': {
    why: 'everybody reads private records',
    file: 'src/view/apply.ts',
    from: 'target.putNamespace(namespace, { id, publicRead, suspended }, maxTtl);',
    to: 'target.putNamespace(namespace, { id, publicRead: true, suspended }, maxTtl);',
    finds: LOG,
  },
  'ttl-lost': {
    why: 'the TTL of a record is not the one that was written',
    file: 'src/view/apply.ts',
    from: 'plain, format, ttlSeconds, expiresAt });',
    to: 'plain, format, ttlSeconds: 300, expiresAt });',
    finds: LOG,
  },
  'expiry-lost': {
    why: 'a record never ends at a node that is cut off',
    file: 'src/view/apply.ts',
    from: 'plain, format, ttlSeconds, expiresAt });',
    to: 'plain, format, ttlSeconds, expiresAt: null });',
    finds: LOG,
  },
  'token-lives-longer': {
    why: 'a token opens its namespace an hour too long',
    file: 'src/view/apply.ts',
    from: 'target.putToken(digest, { namespace, expiresAt });',
    to: 'target.putToken(digest, { namespace, expiresAt: expiresAt + 3_600_000 });',
    finds: LOG,
  },
  'sweep-does-not-count': {
    why: 'expired records count against the limit of a namespace for ever',
    file: 'src/store/records.ts',
    from: 'update namespaces set records_count = records_count - :count where id = :id',
    to: 'update namespaces set records_count = records_count - :count * 0 where id = :id',
    finds: /^records are counted wrong/,
  },
  'suspended-namespace-is-written': {
    why: 'a customer goes on to write records while the operator has suspended the namespace',
    file: 'src/control/records/rules.ts',
    from: '  if (namespace.suspended === 1) throw namespaceSuspended();',
    to: '',
    finds: /^ModelError: .* is suspended$/,
  },
  'bulk-beyond-limit': {
    why: 'an account stores more records than its limit, by bulk writes',
    file: 'src/control/records/rules.ts',
    from: 'customerId, delta, TIERS[tier].records)',
    to: 'customerId, delta, TIERS[tier].records + (delta > 1 ? delta : 0))',
    finds: /^ModelError: .* (records are more than|records of) 5$/,
    small: true,
  },
  'unread-spool-overwritten': {
    why: 'answers that were not sent before a restart are never counted when the disk could not be read for a moment',
    file: 'src/dns/accounting/node-accounting.ts',
    from: '    if (!isRead) await read();\n',
    to: '    isRead = true;\n',
    finds: /^usage: \d+ answers are missing/,
  },
  'registry-not-announced': {
    why: 'a cache answers the version before for an hour',
    file: 'src/view/freshness.ts',
    from: "({ type }) => type !== 'dataset.items'",
    to: "({ namespace }) => namespace !== 'public'",
    finds: /answers what its view does not have: TXT (manifest|identity)\./,
  },
  'import-goes-on-with-other-files': {
    why: 'a version has the items of another file than its manifest names, after an import was killed',
    file: 'src/control/datasets/import.ts',
    from: 'if (isManifestOf(row, manifest) && row.layout === LAYOUT)',
    to: 'if (row.layout === LAYOUT)',
    finds: /serves what the log does not have: dataset|ModelError: .* of the dataset/,
  },
  'resumed-import-lacks-a-part': {
    why: 'a version that was imported in two goes lacks items',
    file: 'src/control/datasets/part-spool.ts',
    from: 'if (part >= from) {',
    to: 'if (part > from || from === 0) {',
    finds: /serves what the log does not have: dataset/,
    small: true,
  },
  'number-with-two-contents': {
    why: 'the operator is told that files are published, while others are served under their number',
    file: 'src/control/datasets/import.ts',
    from: '  if (isOther) throw otherContent(manifest);\n',
    to: '',
    finds: /^ModelError: the dataset: /,
  },
  'retired-version-is-served': {
    why: 'nodes go on to answer a version that the operator has withdrawn',
    file: 'src/store/dataset-changes.ts',
    from: '  await appendChanges(tx, changes, now);\n  return retired;',
    to: '  return retired;',
    finds: /^not at rest|of the dataset/,
  },
  'proof-of-another-entry': {
    why: 'readers are given proofs that prove nothing',
    file: 'src/control/transparency/publish.ts',
    from: 'const indexes = entries.map(({ idx }) => idx);',
    to: 'const indexes = entries.map(({ idx }) => Math.max(0, idx - 1));',
    finds: /a proof proves nothing/,
  },
  'proof-not-told': {
    why: 'nodes have no proof of a version until they rebuild',
    file: 'src/control/transparency/publish.ts',
    from: 'if (versionId !== null && !retired.has(versionId)) changes.push(',
    to: 'if (versionId !== null && retired.has(versionId)) changes.push(',
    finds: /^not at rest|asked for a proof/,
  },
  'published-without-witnesses': {
    why: 'readers are shown a head of the transparency log that no quorum has cosigned',
    file: 'src/control/transparency/signer.ts',
    from: 'if (mayBeBehind(answers) || !isQuorum(policy, cosignersOf(answers))) {',
    to: 'if (mayBeBehind(answers)) {',
    finds: /the head of the log is not trusted/,
  },
  'one-level-of-tiles': {
    why: 'a transparency log of 65,536 entries cannot be published or read any more',
    file: 'src/protocol/transparency/tree.ts',
    from: 'if (level === 0 || level % TILE_LEVELS !== 0) continue;',
    to: 'if (level !== TILE_LEVELS) continue;',
    finds: /^the log is not at rest/,
    small: true,
  },
  'undo-over-later-writes': {
    why: 'an undo takes back what somebody has written since',
    file: 'src/control/history/undo.ts',
    from: 'if (changed.length > 0) {',
    to: 'if (changed.length < 0) {',
    finds: /^ModelError: the history: /,
  },
  'erased-record-keeps-versions': {
    why: 'a record that was deleted for good can be read in its history',
    file: 'src/control/records/rules.ts',
    from: 'else if (home.history_id !== null) await eraseVersionsOf(tx, home.history_id, key, ended.until);',
    to: '',
    finds: /^ModelError: the history: /,
  },
  'member-is-not-removed': {
    why: 'somebody who was removed from an organization reads and writes what belongs to it',
    file: 'src/store/organizations.ts',
    from: '  await DELETE_MEMBER.run(tx, { customerId, userId });\n',
    to: '',
    finds: /^ModelError: the organization: /,
  },
  'tokens-outlive-membership': {
    why: 'somebody who was removed from an organization reads its private records with a token that he made',
    file: 'src/control/organizations/rules.ts',
    from: '    await endWhatUserMade(tx, id, memberId, now);\n',
    to: '',
    finds: /^ModelError: the organization: /,
  },
  'account-keeps-namespaces': {
    why: 'nodes answer what belonged to a deleted account for ever',
    file: 'src/control/namespaces/deletion.ts',
    from: '  const namespace = await lockNextOpenNamespace(tx, id);\n  if (namespace',
    to: '  const namespace = await lockNextOpenNamespace(tx, id.slice(1));\n  if (namespace',
    finds: /^the deletion of an account or a namespace does not end|^ModelError: n\d answers/,
  },
  'account-is-not-closed': {
    why: 'a customer is told that the account is deleted, and all that it had stays',
    file: 'src/control/accounts/rules.ts',
    from: '  await closeCustomer(tx, id);\n',
    to: '',
    finds: /^ModelError: (n\d answers|REST shows)|^rows of what was deleted are left/,
  },
  'account-keeps-webhooks': {
    why: 'an endpoint is told of the records of a deleted account',
    file: 'src/control/accounts/rules.ts',
    from: '  await closeWebhooks(tx, id);\n',
    to: '',
    finds: /the webhook was deleted|^the deletion of an account or a namespace does not end/,
  },
  'account-frees-suspended-name': {
    why: 'a customer gets rid of a suspended namespace by deleting the account',
    file: 'src/control/accounts/rules.ts',
    from: 'if (await hasSuspendedNamespace(tx, userId)) throw namespaceSuspended();',
    to: '',
    finds: /^ModelError: c\S+ is deleted, and its namespace/,
  },
  'new-key-signs-at-once': {
    why: 'resolvers that hold the keys of an hour ago find answers bogus',
    file: 'src/dns/dnssec/rollover.ts',
    from: 'switchTo(key, after(key.stateSince, times.dnskeyTtl + times.propagation)),',
    to: 'switchTo(key, after(key.stateSince, 0)),',
    finds: BOGUS,
  },
};
