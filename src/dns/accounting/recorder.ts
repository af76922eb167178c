import { LIMITS } from '../../base/limits.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { OPERATIONS } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import { encodeHandover, TRANSPORT_PLACE } from './handover.ts';
import type { Account, Accounting, Tag } from './tag.ts';

export interface Recorder extends Accounting {
  /**
   * Everything since the last call, for the main thread, or null when there is nothing.
   * @param now milliseconds since the epoch
   */
  handOver(now: number): ArrayBuffer | null;
}

export interface RecorderOptions {
  /** When the recording begins, milliseconds since the epoch. */
  readonly startedAt: number;
  /** Counts every product query, those of the operator's namespaces included. */
  readonly onQuery: (status: number) => void;
}

/**
 * Between two hand-overs a namespace has at most as many rows as there is room left, so that one fills half of them, two fill a third
 * each, and there always is room for another. Queries for which nobody showed a valid token, those of public namespaces included, fill at
 * most this part of the rows, by the same rule: strangers leave room for queries with a token.
 */
const TOKENLESS_ROWS = LIMITS.queryLogRowsPerSecond / 2;

const PLACE_OF_STATUS = Object.fromEntries(QUERY_STATUSES.map((status, at) => [status, at])) as Readonly<
  Record<QueryStatus, number>
>;
const PLACE_OF_OPERATION: ReadonlyMap<string, number> = new Map(
  OPERATIONS.map((operation, at) => [operation, at]),
);
const ERROR = PLACE_OF_STATUS.error;
const HIT = PLACE_OF_STATUS.hit;

const OPERATOR_TAGS: readonly Tag[] = QUERY_STATUSES.map((_, status) => ({
  account: null,
  status,
  isMetered: false,
  isTokenless: true,
  operation: 0,
  qtype: 0,
  rcode: 0,
  resource: '',
  version: '',
}));

/** Key of the account of names that belong to no namespace. No id is so. */
const NOBODY = '';

/**
 * The accounting of one worker: counts in the accounts of namespaces, and rows in arrays of fixed length. The account
 * of nobody takes the same steps as any other, and its rows are overwritten by the next.
 */
export function createRecorder({ startedAt, onQuery }: RecorderOptions): Recorder {
  const capacity = LIMITS.queryLogRowsPerSecond;
  // One place more: rows of nobody may be written behind the last one.
  const tags = new Array<Tag>(capacity + 1).fill(OPERATOR_TAGS[0]!);
  const times = new Float64Array(capacity + 1);
  const transports = new Uint8Array(capacity + 1);
  const durations = new Uint16Array(capacity + 1);
  let length = 0;
  let tokenless = 0;
  let since = startedAt;
  let accounts = new Map<string, Account>();
  let listed: Account[] = [];

  function accountOf(namespaceId: string): Account {
    const known = accounts.get(namespaceId);
    if (known !== undefined) return known;
    // Tags and the list keep the accounts that they need. Two of one namespace are added up after the hand-over.
    if (accounts.size >= LIMITS.accountingNamespaces) accounts = new Map();
    const account: Account = {
      namespaceId,
      isSomebody: namespaceId !== NOBODY,
      answers: 0,
      rows: 0,
      tokenless: 0,
      dropped: 0,
      isListed: false,
      place: 0,
    };
    accounts.set(namespaceId, account);
    return account;
  }

  return {
    tagOf({ query, namespaceId, reading, status: asked }, { rcode, isFailure }, qtype) {
      const status = isFailure ? ERROR : PLACE_OF_STATUS[asked];
      if (reading === 'operator') return OPERATOR_TAGS[status]!;
      const isAuthorised = reading !== 'none' && status <= PLACE_OF_STATUS.expired;
      return {
        account: accountOf(namespaceId ?? NOBODY),
        status,
        isMetered: reading === 'private' && status === HIT && qtype === RRTYPE.TXT,
        isTokenless: reading !== 'private',
        operation: PLACE_OF_OPERATION.get(query.operation)!,
        qtype,
        rcode,
        resource: isAuthorised ? ownText(query.resource) : '',
        version: isAuthorised ? ownText(query.version) : '',
      };
    },
    record(tag, transport, now, durationMs) {
      onQuery(tag.status);
      const { account } = tag;
      if (account === null) return;
      if (!account.isListed) {
        account.isListed = true;
        listed.push(account);
      }
      if (tag.isMetered) account.answers++;
      const place = TRANSPORT_PLACE[transport];
      if (place < 0) return;
      const isFull = account.rows >= capacity - length;
      if (isFull || (tag.isTokenless && account.tokenless >= TOKENLESS_ROWS - tokenless)) {
        account.dropped++;
        return;
      }
      account.rows++;
      if (tag.isTokenless) account.tokenless++;
      tags[length] = tag;
      times[length] = now;
      transports[length] = place;
      durations[length] = durationMs;
      if (!account.isSomebody) return;
      length++;
      if (tag.isTokenless) tokenless++;
    },
    handOver(now) {
      const counted = listed.filter(({ isSomebody }) => isSomebody);
      const buffer =
        counted.length === 0
          ? null
          : encodeHandover({ since, accounts: counted, tags, times, transports, durations, rows: length });
      for (const account of listed) {
        account.answers = 0;
        account.rows = 0;
        account.tokenless = 0;
        account.dropped = 0;
        account.isListed = false;
      }
      // Evicted replies must not stay in memory because a row referred to them.
      tags.fill(OPERATOR_TAGS[0]!, 0, Math.min(length + 1, tags.length));
      listed = [];
      length = 0;
      tokenless = 0;
      since = now;
      return buffer;
    },
  };
}

/**
 * A copy. A label of 13 characters or more is a view of the name that was asked, and V8 would keep that name, with its token,
 * for as long as the label.
 */
function ownText(label: string): string {
  return Buffer.from(label, 'latin1').toString('latin1');
}
