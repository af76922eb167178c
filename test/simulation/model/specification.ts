import { contentFormat, FORMATS } from '../../../src/protocol/query/envelope.ts';
import type { RecordValue } from './state.ts';
import type { ClockRange, DnsAnswer } from './told.ts';

/** What a question may meet at one instant. */
export interface Found {
  /** Null: nobody has the name. */
  readonly namespace: {
    readonly id: string;
    readonly isClosed: boolean;
    readonly isSuspended: boolean;
    readonly isOpen: boolean;
    /** Seconds. */
    readonly maxTtl: number;
  } | null;
  /** The token of the question, if anybody ever minted it. */
  readonly token: {
    readonly namespaceId: string;
    readonly isLive: boolean;
    readonly expiresAt: number;
  } | null;
  readonly record: RecordValue | null;
  /** The log may have lost its payload: a later change is there, and the node may lack it. */
  readonly isGone: boolean;
}

/** Clocks that decide what has expired. */
interface Clocks {
  /** Of the node, from the question to the answer. */
  readonly node: ClockRange;
  /** The latest that any process may have that deletes what has expired. */
  readonly sweeper: number;
}

/** Null: the specification allows this answer for what was found. Else what is wrong. */
export function whyNot(
  found: Found,
  answer: Pick<DnsAnswer, 'type' | 'rcode' | 'answers'>,
  clocks: Clocks,
): string | null {
  const { type, rcode, answers } = answer;
  const access = accessTo(found, clocks.node);
  if (rcode === 'SERVFAIL' && found.isGone && access.some((way) => way !== 'refused')) return null;
  // Other types than TXT tell nothing of records, whoever may read them.
  if (type !== 'TXT') return rcode === 'NOERROR' && answers.length === 0 ? null : `${rcode} for another type`;
  if (rcode === 'REFUSED') return access.includes('refused') ? null : 'refused, and it may be read';
  if (rcode !== 'NOERROR') return `${rcode} for a name that is right`;
  const readings = access.filter((way) => way !== 'refused');
  if (readings.length === 0) return 'read without a right';
  if (answers.length > 1) return 'more than one record';
  const [only] = answers;
  if (only === undefined) return mayBeEmpty(found.record, clocks) ? null : 'empty, and there is a record';
  if (found.record === null) return 'there is no record';
  const { expiresAt } = found.record;
  if (expiresAt != null && expiresAt <= clocks.node.from) return 'the record has expired';
  if (!isEnvelopeOf(only.text, found.record)) return 'not the envelope of the record';
  const { maxTtl } = found.namespace!;
  const isRight = readings.some((way) =>
    hasTtl(only.ttl, way === 'private' ? 0 : maxTtl, expiresAt, clocks.node),
  );
  return isRight ? null : `a TTL of ${only.ttl}`;
}

type Access = 'refused' | 'open' | 'private';

/** A suspension overrides all; an open namespace needs no token; else one of its own that is neither revoked nor expired. */
function accessTo({ namespace, token }: Found, clock: ClockRange): readonly Access[] {
  if (namespace === null || namespace.isClosed || namespace.isSuspended) return ['refused'];
  if (namespace.isOpen) return ['open'];
  if (!token?.isLive || token.namespaceId !== namespace.id) return ['refused'];
  if (token.expiresAt <= clock.from) return ['refused'];
  // The node looked at its clock at some time between.
  return token.expiresAt <= clock.to ? ['refused', 'private'] : ['private'];
}

/** Past its expiry on the node's clock, or deleted by a process of which the clock has passed it. */
function mayBeEmpty(record: RecordValue | null, { node, sweeper }: Clocks): boolean {
  if (record === null || record.expiresAt === undefined) return true;
  return record.expiresAt !== null && record.expiresAt <= Math.max(node.to, sweeper);
}

/** Seconds: the most that caches may keep it, and never beyond the expiry. */
function hasTtl(ttl: number, most: number, expiresAt: number | null | undefined, clock: ClockRange): boolean {
  if (expiresAt === undefined) return ttl <= most;
  const left = (now: number): number =>
    Math.min(most, expiresAt === null ? most : Math.floor((expiresAt - now) / 1000));
  return Math.max(0, left(clock.to)) <= ttl && ttl <= left(clock.from);
}

const HEAD = /^v=svc1;s=ok;t=data;e=(b64|plain);f=([a-z]{1,7});ttl=(\d+);d=/;

/** Base64 of the data of an envelope; null: it is none. */
export function payloadOf(text: string): string | null {
  const [head, encoding] = HEAD.exec(text) ?? [];
  if (head === undefined) return null;
  const data = text.slice(head.length);
  return encoding === 'plain' ? Buffer.from(data, 'latin1').toString('base64') : data;
}

function isEnvelopeOf(text: string, { data, contentType, isPlain, ttlSeconds }: RecordValue): boolean {
  const [, encoding, format, ttl] = HEAD.exec(text) ?? [];
  if (encoding === undefined) return false;
  if (data !== undefined && payloadOf(text) !== data) return false;
  if (isPlain !== undefined && isPlain !== (encoding === 'plain')) return false;
  if (contentType !== undefined && contentFormat(contentType, FORMATS) !== format) return false;
  return ttlSeconds === undefined || String(ttlSeconds) === ttl;
}
