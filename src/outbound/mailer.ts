export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mailer {
  /** Resolves when the operator's server has accepted the mail. @throws MailError */
  send(mail: Mail, signal?: AbortSignal): Promise<void>;
}

/** The server did not accept a mail. The code names the failed step; no text of the server is included. */
export class MailError extends Error {
  readonly code: string;
  /** There is no such mailbox: the same mail would be refused again (RFC 5321 §4.2.1). */
  readonly isNoMailbox: boolean;

  /** @param code of nodemailer's closed set, such as `EAUTH` */
  constructor(code: string, isNoMailbox = false) {
    super('the mail server did not take a mail');
    this.name = 'MailError';
    this.code = code;
    this.isNoMailbox = isNoMailbox;
  }
}

export interface MailerOptions {
  /** `smtps://` or `smtp://`, with `user:password@` if the server requires them. */
  readonly url: string;
  readonly from: string;
  readonly deadlineMs?: number;
  /** Certificates trusted in place of the system's, PEM: for tests. */
  readonly ca?: string;
  /** Loads the library, with the first mail: it loads Node's fetch, which the server does not use otherwise. */
  readonly load?: typeof nodemailer;
}

const DEADLINE_MS = 30_000;
/** Timeout of each of: DNS, connection, greeting, silence. */
const STEP_MS = 10_000;
/** How long a socket that we ended waits for the server to end it too: a process that stops waits for its sockets. */
const CLOSE_MS = 1_000;

const nodemailer = () => import('nodemailer');

/**
 * `smtps://`: TLS from the first octet. `smtp://`: STARTTLS if the server offers it, else clear text (RFC 7435 §3). The
 * certificate must be valid with `smtps://` and with a password; otherwise it is not checked.
 */
export function openMailer({
  url,
  from,
  deadlineMs = DEADLINE_MS,
  ca,
  load = nodemailer,
}: MailerOptions): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const hasPassword = username !== '';
  const settings = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 25) : Number(port),
    secure,
    ...(hasPassword && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    tls: {
      minVersion: 'TLSv1.2' as const,
      rejectUnauthorized: secure || hasPassword,
      ...(ca !== undefined && { ca }),
    },
    dnsTimeout: STEP_MS,
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    socketCloseTimeout: CLOSE_MS,
    // Else a text could make nodemailer attach a file or a page.
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const open = async () => (await load()).createTransport(settings);
  let opening: ReturnType<typeof open> | null = null;
  return {
    async send({ to, subject, text }, outer) {
      const deadline = AbortSignal.timeout(deadlineMs);
      const signal = outer === undefined ? deadline : AbortSignal.any([deadline, outer]);
      try {
        opening ??= open().catch((error: unknown) => {
          // The next mail tries again: there may have been no file handle.
          opening = null;
          throw error;
        });
        const transport = await opening;
        await transport.sendMail({
          from: { name: '', address: from },
          // As an object: in a string, a comma in the address would add a recipient.
          to: { name: '', address: to },
          subject,
          text,
          // Suppresses automatic replies (RFC 3834 §5).
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal,
        });
      } catch (error) {
        throw new MailError(codeOf(error), hasNoMailbox(error));
      }
    },
  };
}

/** Codes of RFC 3463 §3.2 and §3.3 that speak of the recipient: unknown mailbox, domain or syntax, a mailbox that has moved, one that is disabled. */
const NO_MAILBOX = /^5\d\d[ -]5\.(?:1\.(?:[1236]|10)|2\.1)\b/;

/**
 * Without such a code a refusal may be of the operator's server or its settings: no password, a relay that is not allowed, too many mails a day. These
 * pass once they are mended.
 */
function hasNoMailbox(error: unknown): boolean {
  const { command, response } = error as { readonly command?: unknown; readonly response?: unknown };
  return command === 'RCPT TO' && NO_MAILBOX.test(String(response));
}

/** Only the code is safe to log: the rest of the error has the address and the server's text. */
function codeOf(error: unknown): string {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^E[A-Z]{2,20}$/.test(code) ? code : 'EMAIL';
}
