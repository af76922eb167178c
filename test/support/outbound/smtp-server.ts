import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { makeSelfSigned } from '../../../src/base/certificates.ts';

/** A mail as the server got it. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Header and text, with bare line feeds. */
  readonly data: string;
  readonly isSecure: boolean;
  /** `user:password`, or null when none was given. */
  readonly login: string | null;
}

export interface SmtpOptions {
  /** TLS from the first octet. */
  readonly implicitTls?: boolean;
  readonly offersStartTls?: boolean;
  /** In place of what would be answered, by verb: `RCPT` -> `550 no`. Null: silence. */
  readonly answers?: Readonly<Record<string, string | null>>;
}

export interface SmtpServer {
  readonly port: number;
  /** PEM, for `localhost` and 127.0.0.1. */
  readonly cert: string;
  readonly mails: readonly TakenMail[];
  close(): Promise<void>;
}

/** Just enough of RFC 5321 to take mail on this machine. */
export async function openSmtpServer(options: SmtpOptions = {}): Promise<SmtpServer> {
  const tls = makeSelfSigned({ hosts: [], now: Date.now() });
  const secureContext = createSecureContext(tls);
  const mails: TakenMail[] = [];
  const sockets = new Set<Socket>();
  const secured = (socket: Socket): Socket => new TLSSocket(socket, { isServer: true, secureContext });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    converse(options.implicitTls ? secured(socket) : socket, options, mails, secured);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cert: tls.cert,
    mails,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function converse(
  first: Socket,
  { offersStartTls, answers = {} }: SmtpOptions,
  mails: TakenMail[],
  secured: (socket: Socket) => Socket,
): void {
  let socket = first;
  let said = '';
  let mail: { from: string; to: string[]; data: string[] | null } = { from: '', to: [], data: null };
  let login: string | null = null;
  const isSecure = (): boolean => socket instanceof TLSSocket;
  const answer = (verb: string, usual: string): void => {
    const text = verb in answers ? answers[verb]! : usual;
    if (text !== null) socket.write(`${text}\r\n`);
  };
  const VERBS: Readonly<Record<string, (rest: string) => void>> = {
    EHLO: () => {
      const extensions = ['AUTH PLAIN', ...(offersStartTls && !isSecure() ? ['STARTTLS'] : [])];
      answer(
        'EHLO',
        ['250-localhost', ...extensions.map((one) => `250-${one}`), '250 8BITMIME'].join('\r\n'),
      );
    },
    STARTTLS: () => {
      socket.removeAllListeners('data');
      socket.write('220 go on\r\n');
      listen(secured(socket));
    },
    AUTH: (rest) => {
      const [, user, password] = Buffer.from(rest.replace(/^PLAIN /, ''), 'base64')
        .toString()
        .split('\0');
      login = `${user}:${password}`;
      answer('AUTH', '235 welcome');
    },
    MAIL: (rest) => {
      mail = { from: rest, to: [], data: null };
      answer('MAIL', '250 ok');
    },
    RCPT: (rest) => {
      mail.to.push(rest);
      answer('RCPT', '250 ok');
    },
    DATA: () => {
      mail.data = [];
      answer('DATA', '354 go on');
    },
    QUIT: () => socket.end('221 bye\r\n'),
  };
  const take = (line: string): void => {
    if (mail.data === null) {
      const name = line.toUpperCase() === 'STARTTLS' ? 'STARTTLS' : line.slice(0, 4).toUpperCase();
      const action = VERBS[name];
      if (action === undefined) socket.write('502 what?\r\n');
      else action(line.slice(5));
    } else if (line === '.') {
      mails.push({ from: mail.from, to: mail.to, data: mail.data.join('\n'), isSecure: isSecure(), login });
      mail = { from: '', to: [], data: null };
      answer('.', '250 taken');
    } else mail.data.push(line.replace(/^\./, ''));
  };
  const listen = (next: Socket): void => {
    socket = next;
    said = '';
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1');
      for (let end = said.indexOf('\r\n'); end >= 0; end = said.indexOf('\r\n')) {
        const line = said.slice(0, end);
        said = said.slice(end + 2);
        take(line);
      }
    });
  };
  listen(socket);
  answer('', '220 localhost');
}
