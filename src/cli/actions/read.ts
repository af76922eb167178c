import { isUtf8 } from 'node:buffer';
import { InputError, UsageError } from '../../base/errors.ts';
import { formatTimeOrNull } from '../../base/time.ts';
import { readEnvironment } from '../../ops/config/env.ts';
import { queryTokenText } from '../../ops/config/variables.ts';
import { RCODE, RRTYPE } from '../../protocol/dns/codes.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { nameFromText } from '../../protocol/dns/name.ts';
import { txtValue } from '../../protocol/dns/rdata/rdata.ts';
import {
  AUTH_PREFIX,
  foldCase,
  isVersion,
  PUBLIC_NAMESPACE,
  PUBLIC_VERSION,
} from '../../protocol/names/labels.ts';
import { isOperation } from '../../protocol/names/query-name.ts';
import { type ParsedEnvelope, parseEnvelope } from '../../protocol/query/envelope.ts';
import { commandConfig } from '../context.ts';
import { type OpenerOptions, openerOf } from '../key-files.ts';
import { escapeControls, print } from '../output.ts';
import { askTxt, type QueryOptions, statusText, targetOf } from './query.ts';

export interface ReadOptions extends QueryOptions, OpenerOptions {
  /** Query token. */
  readonly token?: string;
}

/**
 * Reads a record over DNS and prints its payload, octet for octet.
 * @param subject the key of a record, or a full name
 * @throws UsageError for a text that is neither, or a token that is none; InputError when there is no payload
 */
export async function readRecord(subject: string, options: ReadOptions): Promise<void> {
  const config = commandConfig();
  const opener = await openerOf(options);
  const question = questionOf(subject, {
    zones: config.zones,
    option: options.token,
    variable: readEnvironment().UQRP_QUERY_TOKEN || undefined,
  });
  const reply = await askTxt(question.name, targetOf(options, config));
  const { octets: stored, format, ttl } = payloadOf(reply, question);
  const opened = opener === null ? null : await opener.open(recordKeyIn(question.name), stored);
  const octets = opened === null ? stored : Buffer.from(opened.data);
  if (options.json === true) {
    const written = opened === null ? {} : { written: formatTimeOrNull(opened.time) };
    print(JSON.stringify({ format, ttl, data: octets.toString('base64'), ...written }));
  } else process.stdout.write(process.stdout.isTTY ? forTerminal(octets) : octets);
}

/** The record's key in a full name: what is between operation and token, and the zone. */
export function recordKeyIn(name: string): string {
  const labels = name.split('.');
  const begin = foldCase(labels[1] ?? '').startsWith(AUTH_PREFIX) ? 2 : 1;
  return labels.slice(begin, labels.findLastIndex((label) => isVersion(foldCase(label))) + 1).join('.');
}

/** What is asked, and how messages call it. */
interface Question {
  /** With zone and token. */
  readonly name: string;
  /** As the user wrote it, with asterisks in place of a token. */
  readonly shown: string;
  /** `name`, with asterisks in place of a token. */
  readonly asked: string;
  readonly hasToken: boolean;
}

interface Given {
  readonly zones: readonly string[];
  /** Token of the command line. It must not contradict the name. */
  readonly option: string | undefined;
  /** Token of the environment: for names without one. */
  readonly variable: string | undefined;
}

const TOKEN_LABEL = /(^|\.)auth-[^.]*/gi;
const PUBLIC_NAME = new RegExp(`\\.${PUBLIC_NAMESPACE}\\.${PUBLIC_VERSION}\\.`, 'i');

export function questionOf(subject: string, { zones, option, variable }: Given): Question {
  const shown = withoutToken(subject);
  const full = fullName(subject, zones);
  // No message may show the whole name, which holds the token.
  if (full === null || nameFromText(full) === null) {
    throw new UsageError(
      `${shown} is neither a key ([<params>.]<resource>.<namespace>.<version>) nor a name within a zone`,
    );
  }
  if (option !== undefined && queryTokenText(option) === null) {
    throw new UsageError('--token is no query token: it has 1 to 58 letters and digits');
  }
  const [operation = '', ...rest] = full.split('.');
  const hasOwn = foldCase(rest[0] ?? '').startsWith(AUTH_PREFIX);
  if (hasOwn && option !== undefined) throw new UsageError(`${shown} has a token already: leave out --token`);
  const token = hasOwn || PUBLIC_NAME.test(`${full}.`) ? undefined : (option ?? variable);
  const asked = withoutToken(full);
  if (token === undefined) return { name: full, shown, asked, hasToken: hasOwn };
  const name = [operation, AUTH_PREFIX + token, ...rest].join('.');
  if (nameFromText(name) === null) throw new UsageError(`${shown} is too long for a name with a token`);
  return { name, shown, asked, hasToken: true };
}

function withoutToken(name: string): string {
  return escapeControls(name.replace(TOKEN_LABEL, `$1${AUTH_PREFIX}***`));
}

/** A key is asked with `get` in the first zone. Null for what is neither a key nor a name that holds one. */
function fullName(subject: string, zones: readonly string[]): string | null {
  const bare = subject.replace(/\.$/, '');
  const lower = foldCase(bare);
  if (subject.endsWith('.') || zones.some((zone) => lower.endsWith(`.${zone}`))) return bare;
  const labels = lower.split('.');
  if (isVersion(labels.at(-1)!)) return labels.length < 3 ? null : `get.${bare}.${zones[0]}`;
  // A zone of another server.
  return labels.slice(3).some(isVersion) ? bare : null;
}

interface Payload {
  readonly octets: Buffer;
  /** Field `f` of the envelope. */
  readonly format: string | null;
  /** Seconds for which resolvers may keep the answer. */
  readonly ttl: number;
}

/** @throws InputError when the reply has no payload */
export function payloadOf(reply: Message, question: Omit<Question, 'name'>): Payload {
  const { shown } = question;
  const answer = reply.answer.find(({ type }) => type === RRTYPE.TXT);
  if (answer === undefined) throw new InputError(whyNone(reply, question));
  const value = txtValue(answer.rdata);
  const envelope = value === null ? null : parseEnvelope(Buffer.from(value).toString('latin1'));
  if (envelope === null) throw new InputError(`the answer to ${shown} is no envelope of uqrp`);
  const { fields, data } = envelope;
  if (fields.get('s') !== 'ok') throw new InputError(`${shown}: ${errorText(envelope)}`);
  if (data === null) {
    throw new InputError(`the answer to ${shown} has fields and no payload. "uqrp query" shows them.`);
  }
  return { octets: Buffer.from(data), format: fields.get('f') ?? null, ttl: answer.ttl };
}

function whyNone(reply: Message, { shown, asked, hasToken }: Omit<Question, 'name'>): string {
  if (reply.rcode === RCODE.NXDOMAIN || reply.rcode === RCODE.NOERROR) {
    const [first = '', ...rest] = shown.split('.');
    const isHint = isOperation(foldCase(first)) && isVersion(foldCase(rest.at(-1) ?? ''));
    return `there is no record ${shown}${isHint ? `. A key has no operation: try ${rest.join('.')}` : ''}`;
  }
  const isLocked = reply.rcode === RCODE.REFUSED && !hasToken;
  const help = isLocked ? '. A private namespace needs --token or UQRP_QUERY_TOKEN.' : '';
  // A key says nothing of the zone, which may be the wrong one for this server.
  const what = asked === shown ? '' : ` for ${asked} (UQRP_ZONES sets the zone)`;
  return `${shown}: ${escapeControls(statusText(reply))}${what}${help}`;
}

function errorText({ fields }: ParsedEnvelope): string {
  return escapeControls(`${fields.get('code') ?? 'error'} ${fields.get('msg') ?? 'without a message'}`);
}

/** Text with a newline. Control characters are escaped: a record's writer must not control the reader's terminal. */
export function forTerminal(octets: Buffer): string {
  if (!isUtf8(octets)) {
    throw new InputError(
      `the payload is ${octets.length} octets that are no text. Send them to a file: uqrp read ... > FILE`,
    );
  }
  return `${escapeControls(octets.toString('utf8'))}\n`;
}
