import { RCODE, RRTYPE } from '../../../../src/protocol/dns/codes.ts';
import { latin1Of } from '../../../../src/protocol/encodings.ts';
import { parseEnvelope } from '../../../../src/protocol/query/envelope.ts';
import { type DnsName, isSameName, sameOctets } from '../message/cursor.ts';
import { type DnsMessage, recordsIn } from '../message/message.ts';
import { type ResourceRecord, rdataOf, txtOf } from '../message/record.ts';
import { type CheckTime, checkSignatures, type SignatureCheck } from './check-signatures.ts';
import { type DelegationSigner, dsOf, rrsetOf, type ZoneKey, zoneKeysOf } from './zone-keys.ts';

/** `unsigned`: nothing in the answer is signed, as in a refusal. `not_checked`: this runtime lacks an algorithm. */
export type AnswerResult = 'valid' | 'not_valid' | 'unsigned' | 'not_checked';

/**
 * What is wrong with an answer apart from its signatures.
 * - `not_a_reply`, `wrong_id`, `wrong_question`, `wrong_flags`: it does not belong to the question
 * - `cut_off`: TC is set
 * - `error_with_records`: an error code beside records that say nothing of an error
 * - `unsigned_records`: records without a valid signature
 * - `other_records`: the records of the answer are not those that were asked for
 * - `no_proof`: the answer is empty and nothing proves that it must be
 * - `padding`: octets of the padding are not zero
 */
export type AnswerFault =
  | 'not_a_reply'
  | 'wrong_id'
  | 'wrong_question'
  | 'wrong_flags'
  | 'cut_off'
  | 'error_with_records'
  | 'unsigned_records'
  | 'other_records'
  | 'no_proof'
  | 'padding';

export interface AnswerCheck {
  /** Stricter than a resolver's: `valid` says that every signature is, and that every record has one. */
  readonly result: AnswerResult;
  readonly signatures: readonly SignatureCheck[];
  readonly faults: readonly AnswerFault[];
}

export interface KeysCheck extends AnswerCheck {
  readonly zone: DnsName;
  /** The keys; none unless the result is `valid`. */
  readonly keys: readonly ZoneKey[];
  /** The DS records of the served entry points, for a comparison with those of the parent zone. */
  readonly ds: readonly DelegationSigner[];
  /** Whether an entry point that signed all of the keys has one of the DS records given; null when none were given. */
  readonly isAnchored: boolean | null;
}

export interface AnswerOptions extends CheckTime {
  /** The question as it was sent: the answer must repeat it. */
  readonly query?: DnsMessage | undefined;
}

export interface KeysOptions extends AnswerOptions {
  /** DS records of the parent zone, by a way that you trust. */
  readonly ds?: readonly Pick<DelegationSigner, 'tag' | 'algorithm' | 'digestType' | 'digest'>[] | undefined;
}

const DNSKEY = 48;

/**
 * Checks the answer to a DNSKEY question: it must be signed by an entry point that is part of it. Without `ds` that
 * shows only that the keys belong together. Whose they are, the parent zone's DS record says.
 */
export async function checkKeys(
  message: DnsMessage,
  zone: DnsName,
  options: KeysOptions = {},
): Promise<KeysCheck> {
  const keys = zoneKeysOf(message);
  const check = await checkAnswer(message, { zone, keys }, options);
  const entries = keys.filter(({ isEntryPoint }) => isEntryPoint);
  const ds = 'subtle' in crypto ? await Promise.all(entries.map((key) => dsOf(zone, key))) : [];
  const signers = signersOf(message, zone, check.signatures);
  const signing = ds.filter((_, at) => signers.some((key) => key === entries[at]));
  const isAnchored =
    options.ds === undefined
      ? null
      : signing.some((one) => options.ds?.some((given) => isSameDs(one, given)) === true);
  const isGood = check.result === 'valid' && signing.length > 0 && isAnchored !== false;
  const result = check.result === 'valid' && !isGood ? 'not_valid' : check.result;
  return { ...check, result, zone, keys: isGood ? keys : [], ds, isAnchored };
}

/**
 * The keys that signed all DNSKEY records of the answer. A signature of an entry point over other records, such as those
 * of another section or class, must not vouch for keys that somebody added.
 */
function signersOf(
  message: DnsMessage,
  zone: DnsName,
  signatures: readonly SignatureCheck[],
): readonly ZoneKey[] {
  const count = recordsIn(message, 'answer').filter(({ type }) => type === DNSKEY).length;
  return signatures.flatMap(({ key, record, rrsig, covers }) => {
    const isOfKeys = record.section === 'answer' && rrsig.covered === DNSKEY && covers.length === count;
    return key !== null && isOfKeys && isSameName(record.owner, zone) ? [key] : [];
  });
}

function isSameDs(one: DelegationSigner, given: NonNullable<KeysOptions['ds']>[number]): boolean {
  return (
    one.tag === given.tag &&
    one.algorithm === given.algorithm &&
    one.digestType === given.digestType &&
    one.digest === given.digest
  );
}

/** Checks an answer, or the proof that there is none, with the keys of `checkKeys`. */
export async function checkAnswer(
  message: DnsMessage,
  { zone, keys }: { readonly zone: DnsName; readonly keys: readonly ZoneKey[] },
  options: AnswerOptions = {},
): Promise<AnswerCheck> {
  const signatures = await checkSignatures(message, zone, keys, options);
  const faults = [
    ...faultsOfReply(message, options),
    // In a zone without keys nothing is signed.
    ...(keys.length > 0 && isPositive(message) ? faultsOfContent(message, signatures) : []),
  ];
  return { result: resultOf(signatures, faults), signatures, faults };
}

function resultOf(signatures: readonly SignatureCheck[], faults: readonly AnswerFault[]): AnswerResult {
  const isUnsupported = signatures.some(({ reason }) => reason === 'unsupported');
  const isBad = signatures.some(({ reason }) => reason !== 'valid' && reason !== 'unsupported');
  // A signature that cannot be checked here leaves its records without a valid one.
  if (isBad || faults.some((fault) => !isUnsupported || fault !== 'unsigned_records')) return 'not_valid';
  if (signatures.length === 0) return 'unsigned';
  return isUnsupported ? 'not_checked' : 'valid';
}

/** An answer that must be signed in a signed zone: one with records, or one without error. */
function isPositive({ rcode, records }: DnsMessage): boolean {
  return rcode === RCODE.NOERROR || rcode === RCODE.NXDOMAIN || records.length > 0;
}

function faultsOfReply(message: DnsMessage, { query, isDirect }: AnswerOptions): readonly AnswerFault[] {
  const { flags } = message;
  const faults: AnswerFault[] = [];
  if (!flags.qr || message.opcode !== 0) faults.push('not_a_reply');
  if (flags.tc) faults.push('cut_off');
  // An authoritative server sets AA where it answers, offers no recursion and validates nothing.
  if (flags.z || (isDirect === true && (flags.aa !== message.records.length > 0 || flags.ra || flags.ad)))
    faults.push('wrong_flags');
  if (message.edns?.isPaddingZero === false) faults.push('padding');
  if (query === undefined) return faults;
  if (message.id !== query.id) faults.push('wrong_id');
  if (!isSameQuestion(message, query)) faults.push('wrong_question');
  if (flags.rd !== query.flags.rd || flags.cd !== query.flags.cd) faults.push('wrong_flags');
  return faults;
}

/** In the very case of the letters: a reply repeats the question as it was sent. */
function isSameQuestion({ questions }: DnsMessage, query: DnsMessage): boolean {
  const [a, b] = [questions[0], query.questions[0]];
  if (a === undefined || b === undefined || questions.length !== 1) return false;
  return sameOctets(a.name.wire, b.name.wire) && a.type === b.type && a.class === b.class;
}

function faultsOfContent(message: DnsMessage, signatures: readonly SignatureCheck[]): readonly AnswerFault[] {
  const faults: AnswerFault[] = [];
  const isError = message.rcode !== RCODE.NOERROR && message.rcode !== RCODE.NXDOMAIN;
  if (isError && !message.records.some(isErrorEnvelope)) faults.push('error_with_records');
  const covered = new Set(signatures.flatMap(({ isValid, covers }) => (isValid ? covers : [])));
  if (!message.records.every((record) => record.type === RRTYPE.RRSIG || covered.has(record)))
    faults.push('unsigned_records');
  const answers = recordsIn(message, 'answer');
  if (answers.length === 0) {
    const denial = denialOf(message);
    const isProof = denial !== null && denial.kind !== 'contradiction';
    // Without NXNAME the name exists, so NXDOMAIN would be false (RFC 9824, section 5).
    if (!isProof || (message.rcode === RCODE.NXDOMAIN && denial.kind !== 'absent')) faults.push('no_proof');
  } else if (!isAnswer(message, answers)) faults.push('other_records');
  return faults;
}

/** A service that failed may answer with an error code and a TXT record that says why (docs/PROTOCOL.md). */
function isErrorEnvelope(record: ResourceRecord): boolean {
  const txt = txtOf(record);
  return txt !== null && parseEnvelope(latin1Of(txt))?.fields.get('t') === 'error';
}

/** Records of the question's name and type, or a CNAME at it, and their signatures. */
function isAnswer(message: DnsMessage, answers: readonly ResourceRecord[]): boolean {
  const [question] = message.questions;
  const [first] = answers;
  if (question === undefined || first === undefined || message.rcode === RCODE.NXDOMAIN) return false;
  const at = { ...first, owner: question.name };
  const own = [question.type, RRTYPE.CNAME].flatMap((type) => rrsetOf(message, at, type));
  const isOwn = (record: ResourceRecord): boolean => record.type === RRTYPE.RRSIG || own.includes(record);
  return own.length > 0 && answers.every(isOwn);
}

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
  if (types.includes(asked) || types.includes(RRTYPE.CNAME)) return 'contradiction';
  if (types.includes(RRTYPE.NXNAME)) return 'absent';
  return types.every((type) => type === RRTYPE.RRSIG || type === RRTYPE.NSEC) ? 'between' : 'other_types';
}
