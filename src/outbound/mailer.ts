import { createTransport } from 'nodemailer';

export interface Mail {
  /** One bare address. */
  readonly to: string;
  /** One line. */
  readonly subject: string;
  /** Plain text. */
  readonly text: string;
}

export interface Mailer {
  /**
   * Resolves when the operator's server has taken the mail.
   *
   * @throws MailError
   */
  send(mail: Mail, signal?: AbortSignal): Promise<void>;
}

/** A mail was not taken. Says what of the conversation failed, and nothing that was said in it. */
export class MailError extends Error {
  readonly code: string;

  /** @param code of nodemailer's closed set, such as `EAUTH` */
  constructor(code: string) {
    super('the mail server did not take a mail');
    this.name = 'MailError';
    this.code = code;
  }
}

export interface MailerOptions {
  /** `smtps://` or `smtp://`, with `user:password@` where the server asks for them. */
  readonly url: string;
  /** The sender's bare address. */
  readonly from: string;
  /** Milliseconds for one mail in all. */
  readonly deadlineMs?: number;
  /** Certificates trusted in place of the system's, PEM: for tests. */
  readonly ca?: string;
}

const DEADLINE_MS = 30_000;
/** For each of: names, connection, greeting, silence in between. */
const STEP_MS = 10_000;

/**
 * The way to the operator's own mail server, wherever it is. `smtps://`: TLS from the first octet. `smtp://`: STARTTLS when
 * the server offers it. The certificate must be valid where it protects something: with `smtps://`, and with a password.
 * Else TLS is a gift (RFC 7435 §3), for the mail would go without it too.
 */
export function openMailer({ url, from, deadlineMs = DEADLINE_MS, ca }: MailerOptions): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const hasPassword = username !== '';
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 25) : Number(port),
    secure,
    ...(hasPassword && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: secure || hasPassword,
      ...(ca !== undefined && { ca }),
    },
    dnsTimeout: STEP_MS,
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    // A mail is what is given here, and never a file or a page that its text may name.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text }, outer) {
      const deadline = AbortSignal.timeout(deadlineMs);
      const signal = outer === undefined ? deadline : AbortSignal.any([deadline, outer]);
      try {
        await transport.sendMail({
          from: { name: '', address: from },
          // Not as text: an address with a comma in it would be two.
          to: { name: '', address: to },
          subject,
          text,
          // Nobody answers for us (RFC 3834 §5).
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal,
        });
      } catch (error) {
        throw new MailError(codeOf(error));
      }
    },
  };
}

/** The server's own words, and the address, are in everything of the error but its code. */
function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^E[A-Z]{2,20}$/.test(code) ? code : 'EMAIL';
}
