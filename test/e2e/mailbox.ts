import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A mail server on this machine that takes every mail, and the mails of one address. */
export interface Mailbox {
  /** For UQRP_SMTP_URL. */
  readonly url: string;
  /** Waits for the next mail to an address. @returns its text */
  next(address: string): Promise<string>;
  close(): Promise<void>;
}

interface Waiting {
  readonly address: string;
  readonly take: (text: string) => void;
}

export async function openMailbox(): Promise<Mailbox> {
  const mails: { to: string; text: string }[] = [];
  const waiting: Waiting[] = [];
  const handOver = (): void => {
    for (const one of [...waiting]) {
      const at = mails.findIndex(({ to }) => to === one.address);
      if (at < 0) continue;
      waiting.splice(waiting.indexOf(one), 1);
      one.take(mails.splice(at, 1)[0]!.text);
    }
  };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        const whole = Buffer.concat(chunks).toString();
        const text = whole.slice(whole.indexOf('\r\n\r\n'));
        for (const { address } of session.envelope.rcptTo) mails.push({ to: address, text });
        handOver();
        done();
      });
    },
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    next: (address) =>
      new Promise((take) => {
        waiting.push({ address, take });
        handOver();
      }),
    close: () => new Promise((closed) => server.close(() => closed())),
  };
}
