import { LIMITS } from '../../base/limits.ts';
import type { Transport } from '../../base/network/transport.ts';
import { LOGGED_TRANSPORTS, loggedLabel, type QueryLogRow } from '../../feed/ports/query-log.ts';
import { RRTYPE } from '../../protocol/dns/codes.ts';
import { OPERATIONS } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES, type QueryStatus } from '../../protocol/query/outcome.ts';
import type { Account, Accounting, Tag } from './tag.ts';

export interface Recorder extends Accounting {
  /**
   * Everything since the last call, for the main thread, or null when there is nothing.
   * @param now milliseconds since the epoch
   */
  handOver(now: number): ArrayBuffer | null;
}

interface RecorderOptions {
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

// What a worker hands to the main thread, as one buffer that is transferred:
// head      since f64 | accounts u32 | rows u32
// account   length u8 | namespace id | answers f64 | dropped u32
// row       at f64 | account u32 | duration u16 | qtype u16 | rcode u16 | transport u8 | operation u8 | status u8
// labels    resource and version of each row, all in one text: one text is decoded much faster than two for each row
// Both sides run the same program, so it has no version. It has no place for a name, a parameter, a token or an address.

/** Position in `LOGGED_TRANSPORTS`; -1: its queries are not recorded. */
const TRANSPORT_PLACE: Readonly<Record<Transport, number>> = { udp: 0, tcp: 1, dot: 2, doh: -1 };

interface HandoverParts {
  /** Since when it was counted, milliseconds since the epoch. */
  readonly since: number;
  readonly accounts: readonly Account[];
  /** Rows, field by field; of each array the first `rows` members. */
  readonly tags: readonly Tag[];
  readonly times: Float64Array;
  readonly transports: Uint8Array;
  readonly durations: Uint16Array;
  readonly rows: number;
}

/** What a namespace was counted since the hand-over before. */
interface AccountTotals {
  readonly namespaceId: string;
  readonly answers: number;
  /** Rows that the worker dropped. */
  readonly dropped: number;
}

export interface Handover {
  readonly since: number;
  readonly totals: readonly AccountTotals[];
  /** Decodes all rows. */
  rows(): QueryLogRow[];
}

const HEAD = 8 + 4 + 4;
const ACCOUNT = 1 + 8 + 4;
const ROW = 8 + 4 + 2 + 2 + 2 + 1 + 1 + 1;
/** No label has it. */
const SEPARATOR = ' ';

/** Writes `place` of each account. */
export function encodeHandover(parts: HandoverParts): ArrayBuffer {
  const { since, accounts, tags, times, transports, durations, rows } = parts;
  let octets = HEAD + rows * ROW;
  for (const [place, account] of accounts.entries()) {
    account.place = place;
    octets += ACCOUNT + account.namespaceId.length;
  }
  let labels = '';
  for (let row = 0; row < rows; row++) {
    const { resource, version } = tags[row]!;
    labels += resource + SEPARATOR + version + SEPARATOR;
  }
  octets += labels.length;

  const buffer = new ArrayBuffer(octets);
  const out = Buffer.from(buffer);
  let at = out.writeDoubleLE(since, 0);
  at = out.writeUInt32LE(accounts.length, at);
  at = out.writeUInt32LE(rows, at);
  for (const { namespaceId, answers, dropped } of accounts) {
    at = out.writeUInt8(namespaceId.length, at);
    at += out.write(namespaceId, at, 'latin1');
    at = out.writeDoubleLE(answers, at);
    at = out.writeUInt32LE(dropped, at);
  }
  for (let row = 0; row < rows; row++) {
    const tag = tags[row]!;
    at = out.writeDoubleLE(times[row]!, at);
    at = out.writeUInt32LE(tag.account!.place, at);
    at = out.writeUInt16LE(durations[row]!, at);
    at = out.writeUInt16LE(tag.qtype, at);
    at = out.writeUInt16LE(tag.rcode, at);
    at = out.writeUInt8(transports[row]!, at);
    at = out.writeUInt8(tag.operation, at);
    at = out.writeUInt8(tag.status, at);
  }
  out.write(labels, at, 'latin1');
  return buffer;
}

/** Totals at once, rows on demand: without a query log they are not decoded. */
export function decodeHandover(buffer: ArrayBuffer): Handover {
  const bytes = Buffer.from(buffer);
  let at = HEAD;
  const totals: AccountTotals[] = [];
  for (let left = bytes.readUInt32LE(8); left > 0; left--) {
    const end = at + 1 + bytes[at]!;
    const namespaceId = bytes.toString('latin1', at + 1, end);
    totals.push({ namespaceId, answers: bytes.readDoubleLE(end), dropped: bytes.readUInt32LE(end + 8) });
    at = end + ACCOUNT - 1;
  }
  const rowsAt = at;
  const rowCount = bytes.readUInt32LE(12);

  return {
    since: bytes.readDoubleLE(0),
    totals,
    rows() {
      const labels = bytes.toString('latin1', rowsAt + rowCount * ROW).split(SEPARATOR);
      return Array.from({ length: rowCount }, (_, i): QueryLogRow => {
        const from = rowsAt + i * ROW;
        // Empty text is no label: an unauthorised query.
        const resource = loggedLabel(labels[2 * i]!);
        return {
          at: bytes.readDoubleLE(from),
          namespaceId: totals[bytes.readUInt32LE(from + 8)]!.namespaceId,
          resource,
          version: resource === null ? null : loggedLabel(labels[2 * i + 1]!),
          operation: OPERATIONS[bytes[from + 19]!]!,
          qtype: bytes.readUInt16LE(from + 14),
          status: QUERY_STATUSES[bytes[from + 20]!]!,
          rcode: bytes.readUInt16LE(from + 16),
          transport: LOGGED_TRANSPORTS[bytes[from + 18]!]!,
          durationMs: bytes.readUInt16LE(from + 12),
        };
      });
    },
  };
}
