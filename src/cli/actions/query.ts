import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InputError, UsageError } from '../../base/errors.ts';
import type { Config } from '../../ops/config/config.ts';
import { ask, type ClientTransport, type DnsServer } from '../../process/dns-client.ts';
import { RCODE, RRTYPE, rcodeName, rrtypeName } from '../../protocol/dns/codes.ts';
import { readEde } from '../../protocol/dns/message/edns.ts';
import type { Message } from '../../protocol/dns/message/message.ts';
import { nameFromText, nameToText } from '../../protocol/dns/name.ts';
import { rdataToText } from '../../protocol/dns/rdata/present.ts';
import { txtValue } from '../../protocol/dns/rdata/rdata.ts';
import { foldCase } from '../../protocol/names/labels.ts';
import { type ParsedEnvelope, parseEnvelope } from '../../protocol/query/envelope.ts';
import { commandConfig } from '../context.ts';
import { EXIT, escapeControls, print } from '../output.ts';

export interface QueryOptions {
  readonly server?: string;
  readonly port?: string;
  readonly tcp?: boolean;
  readonly dot?: boolean;
  readonly doh?: boolean;
  readonly json?: boolean;
}

const DEADLINE_MS = 5000;

/**
 * Asks for a name's TXT record and prints the reply with its envelope decoded.
 * @throws InputError when no reply comes, or one without an answer
 */
export async function query(name: string, options: QueryOptions): Promise<void> {
  const config = commandConfig();
  const asked = completeName(name, config.zones);
  const reply = await askTxt(asked, targetOf(options, config));
  if (options.json) print(JSON.stringify({ name: asked, ...describe(reply) }));
  else print(render(reply, { name: asked, isTerminal: process.stdout.isTTY }));
  if (reply.rcode !== RCODE.NOERROR || reply.answer.length === 0) process.exitCode = EXIT.failed;
}

/** A name or an IPv4 address, or IPv6 in brackets, with a port. */
const SERVER_WITH_PORT = /^(?:[^:]*|\[.*\]):(\d+)$/;

/** Which server to ask, and how. */
export interface Target {
  readonly server: DnsServer;
  readonly transport: ClientTransport;
}

/** @throws UsageError for a port that is none, or that stands in --server */
export function targetOf(options: QueryOptions, config: Config): Target {
  const transport: ClientTransport = options.doh ? 'doh' : options.dot ? 'dot' : options.tcp ? 'tcp' : 'udp';
  const ports: Readonly<Record<ClientTransport, number>> = {
    udp: config.dnsPort,
    tcp: config.dnsPort,
    dot: config.dotPort,
    doh: config.dohPort,
  };
  const [, port] = SERVER_WITH_PORT.exec(options.server ?? '') ?? [];
  if (port !== undefined)
    throw new UsageError(`--server takes an address or a name alone: add --port ${port}`);
  const server: DnsServer = {
    host: options.server ?? config.host,
    port: options.port === undefined ? ports[transport] : parsePort(options.port),
    ca: ownCertificate(config.dataDir),
  };
  return { server, transport };
}

/** @throws InputError when no reply comes */
export async function askTxt(name: string, { server, transport }: Target): Promise<Message> {
  const qname = nameFromText(name);
  if (qname === null) throw new UsageError(`${escapeControls(name)} is not a domain name`);
  const options = { server, transport, deadlineMs: DEADLINE_MS };
  return await ask(qname, RRTYPE.TXT, options).catch((error: unknown) => {
    throw new InputError(noReply(error, server, transport));
  });
}

/** A name in no zone gets the first zone behind it, unless it ends in a dot. */
export function completeName(name: string, zones: readonly string[]): string {
  const bare = name.replace(/\.$/, '');
  const lower = foldCase(bare);
  const isWhole = name.endsWith('.') || zones.some((zone) => lower === zone || lower.endsWith(`.${zone}`));
  return isWhole ? bare : `${bare}.${zones[0]}`;
}

/** Names the server that did not answer, and what to check. */
export function noReply(error: unknown, { host, port }: DnsServer, transport: ClientTransport): string {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const { code, name, message } = error as NodeJS.ErrnoException;
  if (code === 'ECONNREFUSED')
    return `nothing listens for ${transport} queries: is the server running on ${where}?`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `the server name ${host} has no address`;
  if (name === 'TimeoutError') {
    return `no reply over ${transport} within ${DEADLINE_MS / 1000} s: is the server running on ${where}?`;
  }
  return `no answer over ${transport} from ${where}: ${message}`;
}

interface Described {
  readonly status: string;
  readonly error: { readonly code: number; readonly text: string } | null;
  readonly answers: readonly {
    readonly name: string;
    readonly ttl: number;
    readonly type: string;
    readonly data: string;
    readonly envelope: Readonly<Record<string, string>> | null;
    /** Decoded payload as text, or null where it is none. */
    readonly payload: string | null;
  }[];
}

function errorOf(reply: Message): Described['error'] {
  const ede = reply.edns?.options.map(readEde).find((option) => option !== null);
  return ede ? { code: ede.infoCode, text: ede.text } : null;
}

/** `REFUSED (18: text)`: the rcode and the extended error (RFC 8914), if there is one. */
export function statusText(reply: Message): string {
  const error = errorOf(reply);
  const status = rcodeName(reply.rcode);
  return error === null ? status : `${status} (${error.code}: ${error.text})`;
}

function describe(reply: Message): Described {
  return {
    status: rcodeName(reply.rcode),
    error: errorOf(reply),
    answers: reply.answer.map((rr) => {
      const value = rr.type === RRTYPE.TXT ? txtValue(rr.rdata) : null;
      const envelope = value === null ? null : parseEnvelope(Buffer.from(value).toString('latin1'));
      return {
        name: nameToText(rr.owner),
        ttl: rr.ttl,
        type: rrtypeName(rr.type),
        data: rdataToText(rr.type, rr.rdata),
        envelope: envelope === null ? null : fieldsOf(envelope),
        payload: payloadText(envelope),
      };
    }),
  };
}

function payloadText(envelope: ParsedEnvelope | null): string | null {
  return envelope?.data ? Buffer.from(envelope.data).toString('utf8') : null;
}

/** Plain text as letters, and not as octets. */
function fieldsOf(envelope: ParsedEnvelope): Readonly<Record<string, string>> {
  const text = envelope.fields.get('e') === 'plain' ? payloadText(envelope) : null;
  return { ...Object.fromEntries(envelope.fields), ...(text !== null && { d: text }) };
}

interface RenderOptions {
  /** What was asked, with its zone. */
  readonly name: string;
  /** Whether the text goes to a terminal, which obeys control characters. */
  readonly isTerminal: boolean;
}

/** The reply for people: status, then each answer with the fields of its envelope and its payload. */
export function render(reply: Message, { name: asked, isTerminal }: RenderOptions): string {
  const { answers } = describe(reply);
  const lines = [statusText(reply)];
  if (answers.length === 0) lines.push(`no TXT record at ${asked}`);
  for (const { name, ttl, type, data, envelope, payload } of answers) {
    lines.push(`${name} ${ttl} ${type} ${data}`);
    for (const [field, value] of Object.entries(envelope ?? {})) {
      if (field !== 'd') lines.push(`  ${field} = ${value}`);
    }
    if (payload !== null) lines.push(`  ${payload}`);
  }
  const text = lines.join('\n');
  return isTerminal ? escapeControls(text) : text;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UsageError('--port takes 1 to 65535');
  return port;
}

/** The server's self-signed certificate, if on this machine. Trusted in addition to the system's. */
function ownCertificate(dataDir: string): string | null {
  try {
    return readFileSync(join(dataDir, 'tls', 'cert.pem'), 'utf8');
  } catch {
    return null;
  }
}
