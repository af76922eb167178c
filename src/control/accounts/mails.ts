import { createWaker } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Mail, Mailer } from '../../outbound/mailer.ts';
import type { InvitationMail } from '../organizations/invitations.ts';

/** Milliseconds before the second and the third attempt. A code that comes much later is of no use. */
const RETRY_MS = [2_000, 10_000];
/** Milliseconds that mails under way have when the server stops. */
const STOP_MS = 3_000;

export interface CodeOutbox {
  /** Takes a mail and returns at once. Each is sent: the codes of an address are valid side by side. */
  send(mail: Mail): void;
  /** Ends retries, and gives mails under way a short time. */
  stop(): Promise<void>;
}

interface OutboxOptions {
  readonly mailer: Mailer;
  /** A mail was not taken after all attempts, or there were too many waiting. */
  readonly onLost: (reason: 'refused' | 'overload', error?: unknown) => void;
  readonly retryMs?: readonly number[];
  readonly timers?: Timers | undefined;
}

/**
 * Mails with sign-in codes, sent after the request was answered: its time tells nothing of the mail server or the address. They wait
 * in memory, because their codes are stored nowhere. A mail that is lost with the process is asked for again.
 */
export function openCodeOutbox({
  mailer,
  onLost,
  retryMs = RETRY_MS,
  timers = realTimers,
}: OutboxOptions): CodeOutbox {
  const waiting: Mail[] = [];
  const sending = new Set<Promise<void>>();
  const ending = new AbortController();
  const cutting = new AbortController();

  const { sleep } = createWaker(ending.signal, timers);

  async function deliver(mail: Mail): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await mailer.send(mail, cutting.signal);
        return;
      } catch (error) {
        const pause = retryMs[attempt];
        if (pause === undefined || ending.signal.aborted) {
          onLost('refused', error);
          return;
        }
        await sleep(pause);
      }
    }
  }

  function next(): void {
    while (sending.size < LIMITS.codeMails) {
      const mail = waiting.shift();
      if (mail === undefined) return;
      const sent: Promise<void> = deliver(mail).finally(() => {
        sending.delete(sent);
        next();
      });
      sending.add(sent);
    }
  }

  return {
    send(mail) {
      if (ending.signal.aborted || waiting.length >= LIMITS.codeMailsWaiting) {
        onLost('overload');
        return;
      }
      waiting.push(mail);
      next();
    },
    async stop() {
      ending.abort();
      waiting.length = 0;
      const uncut = timers.after(STOP_MS, () => cutting.abort());
      await Promise.all(sending);
      uncut();
    },
  };
}

/** Where another number of six digits would be mistaken for the code. */
const SIX_DIGITS = /\d{6}/;

/** The mail with a code. It has no other number of six digits. @param publicUrl where the user signs in */
export function codeMail(to: string, code: string, publicUrl: string): Mail {
  const where = SIX_DIGITS.test(publicUrl) ? '' : ` at ${publicUrl}`;
  return {
    to,
    subject: 'Your sign-in code',
    text: [
      `Your code to sign in${where}:`,
      '',
      `  ${code}`,
      '',
      `It is valid for ${LIMITS.signInCodeMinutes} minutes can be used once, and works where it was asked for.`,
      '',
      'Did you not ask for it? Then ignore this mail: without the code nobody can sign in. Give it to no one.',
      '',
    ].join('\n'),
  };
}

/** The line for the operator of a server without mail. The code comes first: an address may have digits too. */
export function codeLine(email: string, code: string): string {
  return `${code} is the sign-in code of ${email}, valid for ${LIMITS.signInCodeMinutes} minutes. Set UQRP_SMTP_URL to send it by mail.\n`;
}

/** A mail of plain text. The name of the organization is not in the subject, because a stranger may have chosen it. */
export function invitationMail({ to, organization, token }: InvitationMail, publicUrl: string) {
  return {
    to,
    subject: 'Invitation to an organization',
    text: [
      `You are invited to the organization "${organization}" at ${publicUrl}.`,
      '',
      `To accept it, open this link and sign in with this address, once and within ${LIMITS.invitationDays} days:`,
      '',
      // A fragment is not sent to the server, so it is in no log.
      `  ${publicUrl}/organization#invitation=${token}`,
      '',
      'Or paste this token on the page "Organization":',
      '',
      `  ${token}`,
      '',
      'Do you not know the organization? Then ignore this mail.',
      '',
    ].join('\n'),
  };
}

/** The line for the operator of a server without mail. */
export function invitationLine({ to, token }: InvitationMail): string {
  return `${token} is an invitation of ${to}, valid for ${LIMITS.invitationDays} days. Set UQRP_SMTP_URL to send it by mail.\n`;
}
