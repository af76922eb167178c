import { type DnsName, isSameName } from '../message/dns-name.ts';
import { type DnsMessage, recordsIn } from '../message/message.ts';
import { type ResourceRecord, rdataOf } from '../message/record.ts';

/**
 * What the NSEC record of an empty answer proves (compact denial, RFC 9824).
 * - `absent`: nothing exists at the name or below it
 * - `between`: no record at the name, but there may be names below it, or the server does not say
 * - `other_types`: the name exists and has other types
 * - `contradiction`: the record lists the type that was asked for, so it denies nothing
 */
export type DenialKind = 'absent' | 'between' | 'other_types' | 'contradiction';

export interface Denial {
  readonly kind: DenialKind;
  /** The types at the name, as the bitmap lists them. */
  readonly types: readonly number[];
  /** The name after this one in the order of the zone. Nothing lies between. */
  readonly next: DnsName;
  readonly record: ResourceRecord;
}

const RRSIG = 46;
const NSEC = 47;
const NXNAME = 128;
const CNAME = 5;

/** The denial of an answer: its NSEC record at the name of the question. Null without one. */
export function denialOf(message: DnsMessage): Denial | null {
  const [question] = message.questions;
  if (question === undefined) return null;
  for (const record of recordsIn(message, 'authority')) {
    const nsec = rdataOf(record, 'NSEC');
    if (nsec === null || !isSameName(record.owner, question.name)) continue;
    return { kind: kindOf(nsec.types, question.type), types: nsec.types, next: nsec.next, record };
  }
  return null;
}

function kindOf(types: readonly number[], asked: number): DenialKind {
  if (types.includes(asked) || types.includes(CNAME)) return 'contradiction';
  if (types.includes(NXNAME)) return 'absent';
  return types.every((type) => type === RRSIG || type === NSEC) ? 'between' : 'other_types';
}
