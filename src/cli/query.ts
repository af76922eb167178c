import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, type ClientTransport } from '../client/ask.ts';
import type { Server } from '../client/server.ts';
import { loadConfig } from '../config/config.ts';
import { readEnvironment } from '../config/env.ts';
import { parseEnvelope } from '../core/envelope.ts';
import { foldCase } from '../core/labels.ts';
import { RRTYPE, rcodeName, rrtypeName } from '../edge/wire/codes.ts';
import { readEde } from '../edge/wire/edns.ts';
import type { Message } from '../edge/wire/message.ts';
import { nameFromText, nameToText } from '../edge/wire/name.ts';
import { rdataToText } from '../edge/wire/present.ts';
import { txtValue } from '../edge/wire/txt.ts';
import { print, UsageError } from './output.ts';

export interface QueryOptions {
  readonly server?: string;
  readonly port?: string;
  readonly tcp?: boolean;
  readonly dot?: boolean;
  readonly doh?: boolean;
  readonly json?: boolean;
}

const DEADLINE_MS = 5000;

/** Asks for a name's TXT record and prints the reply with its envelope decoded. A name without the zone gets it. */
export async function query(name: string, options: QueryOptions): Promise<void> {
  const config = loadConfig(readEnvironment());
  const zones = config.zones;
  const bare = foldCase(name.replace(/\.$/, ''));
  const inZone = zones.some((zone) => bare === zone || bare.endsWith(`.${zone}`));
  const qname = nameFromText(inZone ? name : `${name}.${zones[0]}`);
  if (qname === null) throw new UsageError('the name is no domain name');

  const transport: ClientTransport = options.doh ? 'doh' : options.dot ? 'dot' : options.tcp ? 'tcp' : 'udp';
  const ports: Readonly<Record<ClientTransport, number>> = {
    udp: config.dnsPort,
    tcp: config.dnsPort,
    dot: config.dotPort,
    doh: config.dohPort,
  };
  const server: Server = {
    host: options.server ?? config.host,
    port: options.port === undefined ? ports[transport] : parsePort(options.port),
    ca: ownCertificate(config.dataDir),
  };
  const reply = await ask(qname, RRTYPE.TXT, { server, transport, deadlineMs: DEADLINE_MS });
  print(options.json ? JSON.stringify(describe(reply)) : render(reply));
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

function describe(reply: Message): Described {
  const ede = reply.edns?.options.map(readEde).find((option) => option !== null);
  return {
    status: rcodeName(reply.rcode),
    error: ede ? { code: ede.infoCode, text: ede.text } : null,
    answers: reply.answer.map((rr) => {
      const value = rr.type === RRTYPE.TXT ? txtValue(rr.rdata) : null;
      const envelope = value === null ? null : parseEnvelope(Buffer.from(value).toString('latin1'));
      return {
        name: nameToText(rr.owner),
        ttl: rr.ttl,
        type: rrtypeName(rr.type),
        data: rdataToText(rr.type, rr.rdata),
        envelope: envelope === null ? null : Object.fromEntries(envelope.fields),
        payload: envelope?.data?.toString('utf8') ?? null,
      };
    }),
  };
}

function render(reply: Message): string {
  const { status, error, answers } = describe(reply);
  const lines = [error === null ? status : `${status} (${error.code}: ${error.text})`];
  for (const { name, ttl, type, data, envelope, payload } of answers) {
    lines.push(`${name} ${ttl} ${type} ${data}`);
    for (const [field, value] of Object.entries(envelope ?? {})) {
      if (field !== 'd') lines.push(`  ${field} = ${value}`);
    }
    if (payload !== null) lines.push(`  ${payload}`);
  }
  return lines.join('\n');
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UsageError('--port takes 1 to 65535');
  return port;
}

/** The server's self-signed certificate, where this machine has it: trusted besides the system's. */
function ownCertificate(dataDir: string): string | null {
  try {
    return readFileSync(join(dataDir, 'tls', 'cert.pem'), 'utf8');
  } catch {
    return null;
  }
}
