/**
 * What a worker hands to the main thread, as one buffer that is transferred:
 *
 *   head      since f64 | accounts u32 | rows u32
 *   account   length u8 | namespace id | answers f64 | dropped u32
 *   row       at f64 | account u32 | duration u16 | qtype u16 | rcode u16 | transport u8 | operation u8 | status u8
 *   labels    resource and version of each row, all in one text: one text is decoded much faster than two for each row
 *
 * Both sides run the same program, so it has no version. It has no place for a name, a parameter, a token or an address.
 */
import type { Transport } from '../../base/network/transport.ts';
import { LOGGED_TRANSPORTS, loggedLabel, type QueryLogRow } from '../../feed/ports/query-log.ts';
import { OPERATIONS } from '../../protocol/names/query-name.ts';
import { QUERY_STATUSES } from '../../protocol/query/outcome.ts';
import type { Account, Tag } from './tag.ts';

/** Position in `LOGGED_TRANSPORTS`; -1: its queries are not recorded. */
export const TRANSPORT_PLACE: Readonly<Record<Transport, number>> = { udp: 0, tcp: 1, dot: 2, doh: -1 };

export interface HandoverParts {
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
export interface AccountTotals {
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
