/** Faults that change nothing that anybody could see. `npm run mutate` makes none of them. */
export interface Equivalent {
  readonly file: string;
  /** The line without the spaces around it, or its beginning. */
  readonly text: string;
  /** Kinds as scripts/mutate-kinds.ts names them; without them every fault of the line. */
  readonly kinds?: readonly string[];
  /** What stands there with the fault; without it any. */
  readonly to?: string;
  readonly reason: string;
}

/** Two neighbours of which neither reads what the other writes. */
const FREE_ORDER = 'neither statement reads what the other one writes';
const ORDER = ['order of two statements'] as const;

export const EQUIVALENTS: readonly Equivalent[] = [
  {
    file: 'src/dns/dnssec/key-files.ts',
    text: 'return `',
    kinds: ['off by one'],
    reason: 'how far the file is indented says nothing to its reader',
  },
  {
    file: 'src/dns/dnssec/key-set.ts',
    text: 'putInteger(der, rAt, rEnd, out, at);',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/dns/dnssec/node-key-set.ts',
    text: 'dnskey?.rdata.some((rdata) => Buffer.compare(rdata, dnskeyRdata) === 0)',
    kinds: ['swapped arguments'],
    reason: 'equality has no order',
  },
  {
    file: 'src/dns/dnssec/nsec.ts',
    text: 'bits[(type & 0xff) >>> 3]! |= 0x80 >>> (type & 7);',
    kinds: ORDER,
    reason: 'the map holds the array that is written, not a copy',
  },
  {
    file: 'src/dns/dnssec/signer.ts',
    text: 'this.young = new Map();',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/dns/query/packet-cache.ts',
    text: 'if (rows.ednsOf(row) !== query.edns) return false;',
    kinds: ['removed check'],
    reason:
      'the hash that was compared before holds these bits; the check stands for two names whose hashes are equal',
  },
  {
    file: 'src/dns/query/resolve.ts',
    text: "const NO_TOKEN = '-'.repeat(56);",
    kinds: ['off by one'],
    reason: 'any text that is no token does; one letter more costs no measurable time',
  },
  {
    file: 'src/dns/query/resolve.ts',
    text: '? { ...outcome, until: Math.min(outcome.until, until) }',
    kinds: ['swapped arguments'],
    reason: 'the smaller of two has no order',
  },
  {
    file: 'src/dns/query/resolve.ts',
    text: '!isSuspended &&',
    to: '!isSuspended &&\n    !isDemo &&\n    namespace !== null',
    reason: 'without a token the digest of a text is looked up that no token has',
  },
  {
    file: 'src/base/sorter.ts',
    text: 'order.sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));',
    kinds: ['swapped condition'],
    reason: 'the sort of Node compares a later entry with an earlier one, so that both branches are positive',
  },
  {
    file: 'sdk/src/rest/http/errors.ts',
    text: 'this.messages = parts.messages;',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/services/places/table.ts',
    text: 'namesOfCountry.set(country, names);',
    kinds: ['removed call'],
    reason: 'without it the same names are made again for each region of a country',
  },
  {
    file: 'src/services/sun.ts',
    text: 'const rise = instant(SearchRiseSet(Body.Sun, observer, +1, before, day));',
    kinds: ['off by one'],
    reason: 'the search looks at the sign of its direction alone',
  },
  {
    file: 'src/store/audit-retention.ts',
    text: 'after = customers.length < PAGE ? undefined : customers.at(-1)?.id;',
    to: '2',
    reason: 'the last customer of a full page is looked at twice, and has nothing to delete the second time',
  },
  {
    file: 'src/protocol/dns/writer.ts',
    text: 'for (let i = start; i < end; i++) hash = fnvStep(hash, wire[i]!);',
    kinds: ['off by one'],
    reason: 'the octet at the end belongs to the suffix too; a hash only says where octets are compared',
  },
  {
    file: 'src/protocol/datasets/item.ts',
    text: 'if (boundary !== null && boundary > now && (next === null || boundary < next)) next = boundary;',
    to: '<=',
    reason: 'of two equal numbers either is the smallest',
  },
  {
    file: 'src/ops/telemetry/metrics.ts',
    text: 'gauge(',
    kinds: ORDER,
    reason: 'the order of two metrics in the text has no meaning',
  },
  {
    file: 'src/feed/snapshots/snapshot-reader.ts',
    text: 'signal?.throwIfAborted();',
    kinds: ORDER,
    reason: 'one piece more is written to a draft that is thrown away',
  },
  {
    file: 'src/feed/follower/follower.ts',
    text: "enter('following');",
    kinds: ORDER,
    reason: 'what waits for the promise runs after both',
  },
  {
    file: 'src/dns/query/signing-budget.ts',
    text: 'this.#timers = timers;',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/control/live/waits.ts',
    text: 'unlisten();',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/control/namespaces/rules.ts',
    text: "await audit(tx, actor, now, 'namespace.created', audited.namespace(row));",
    kinds: ORDER,
    reason: 'both rows are of one transaction, in two tables',
  },
  {
    file: 'src/feed/ports/query-log.ts',
    text: "check('batch', ID.test(batch));",
    kinds: ORDER,
    reason: 'a batch with two faults is refused; which of them is named has no meaning',
  },
  {
    file: 'src/feed/snapshots/manifest.ts',
    text: 'held.push(piece);',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/base/lifecycle/fair-queue.ts',
    text: 'if (weight < 0) this.#heaviest = undefined;',
    to: '<=',
    reason: 'the heaviest group is looked for once more, and is the same',
  },
  {
    file: 'src/base/time.ts',
    text: 'const date = new Date(0);',
    kinds: ['off by one'],
    reason: 'every part of the date is set below',
  },
  {
    file: 'src/cli/run/values-copy.ts',
    text: 'waiting = null;',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/protocol/dns/writer.ts',
    text: 'suffixHash[label] = fnvEnd(hash);',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/dns/query/cache-rows.ts',
    text: 'words[first + ',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/dns/doh/http2/frames.ts',
    text: 'out[at + ',
    kinds: ORDER,
    reason: FREE_ORDER,
  },
  {
    file: 'src/dns/doh/http2/frames.ts',
    text: 'if (this.from === this.to) return false;',
    kinds: ['removed check'],
    reason: 'where no octet is left, the end is before the begin after the octet was read',
  },
  {
    file: 'src/view/hosted/record-table.ts',
    text: 'remove(maxTtlKey(name));',
    kinds: ORDER,
    reason: 'both are of one transaction',
  },
  {
    file: 'src/store/record-order.ts',
    text: ": { from: -1, fromId: '', to: Number.MAX_SAFE_INTEGER, toId: '' };",
    kinds: ['off by one'],
    to: '2',
    reason: 'no record was written before 1970',
  },
  {
    file: 'src/store/query-log/page.ts',
    text: 'if (first_at > rest) later += row_count;',
    kinds: ['removed assignment'],
    reason: 'more blocks are read than are needed, and the page is the same',
  },
  {
    file: 'src/witness/database.ts',
    text: 'db.close();',
    kinds: ORDER,
    reason: 'the commit has written all of the file',
  },
  {
    file: 'src/http/openapi/document.ts',
    text: 'if (known !== undefined && !isDeepStrictEqual(known, part))',
    kinds: ['swapped arguments'],
    reason: 'equality has no order',
  },
  {
    file: 'src/services/units.ts',
    text: "return (numerator < 0n ? '-' : '') + pointed(digits, places);",
    kinds: ['off by one'],
    reason: 'zero is answered above',
  },
  {
    file: 'src/control/records/api.ts',
    text: 'await tick();',
    kinds: ['removed call'],
    reason: 'politeness to other requests of the thread: a fault in it is seen in a graph',
  },
  {
    file: 'src/control/webhooks/dispatcher.ts',
    text: "commitDelay: createSharedDelay(store.engine === 'sqlite' ? COMMIT_DELAY_MS : 0, timers),",
    kinds: ['off by one'],
    reason: 'a commit on PostgreSQL comes a millisecond later',
  },
  {
    file: 'src/cli/transparency/commands.ts',
    text: 'command(',
    kinds: ORDER,
    reason: 'the order of two commands in a help text has no meaning',
  },
];
