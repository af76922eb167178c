import type { Random } from '../../base/chance.ts';
import { createWaker } from '../../base/lifecycle/loop.ts';
import { realTimers, type Timers } from '../../base/lifecycle/timers.ts';
import { createTurns } from '../../base/lifecycle/turns.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Mail, MailError, type Mailer } from '../../outbound/mailer.ts';
import type { InvitationMail } from '../organizations/invitations.ts';

/** Milliseconds before the second and the third attempt. A code that comes much later is of no use. */
const RETRY_MS = [2_000, 10_000];
/** Milliseconds that mails under way have when the server stops. */
const STOP_MS = 3_000;

export interface CodeOutbox {
  /**
   * Takes a mail and returns at once. Each is sent: the codes of an address are valid side by side.
   * @param asker whose turn it takes: the network or the account that asked for it
   */
  send(mail: Mail, asker: string): void;
  /** Ends retries, and gives mails under way a short time. */
  stop(): Promise<void>;
}

interface OutboxOptions {
  readonly mailer: Mailer;
  /** A mail was not taken after all attempts, or there were too many waiting. */
  readonly onLost: (reason: 'refused' | 'overload', error?: unknown) => void;
  readonly random: Random;
  readonly retryMs?: readonly number[];
  readonly timers?: Timers | undefined;
}

/**
 * Mails with sign-in codes, sent after the request was answered: its time tells nothing of the mail server or the address. They wait
 * in memory, because their codes are stored nowhere. A mail that is lost with the process is asked for again. Askers and recipients take turns, and who
 * has most waiting gives way first. A mail that waits for its next attempt is in nobody's way.
 */
export function openCodeOutbox({
  mailer,
  onLost,
  random,
  retryMs = RETRY_MS,
  timers = realTimers,
}: OutboxOptions): CodeOutbox {
  const turns = createTurns({ atOnce: LIMITS.codeMails, waiting: LIMITS.codeMailsWaiting, random });
  const sending = new Set<Promise<void>>();
  /** Mails that wait for their next attempt. */
  let resting = 0;
  const ending = new AbortController();
  const cutting = new AbortController();
  const { sleep } = createWaker(ending.signal, timers);

  async function attempt(mail: Mail): Promise<void> {
    if (!ending.signal.aborted) await mailer.send(mail, cutting.signal);
  }

  async function deliver(mail: Mail, asker: string): Promise<void> {
    for (let failures = 0; ; failures++) {
      try {
        if ((await turns.run(asker, () => attempt(mail), mail.to)) === null) onLost('overload');
        return;
      } catch (error) {
        const pause = retryMs[failures];
        const isFinal = pause === undefined || (error instanceof MailError && error.isNoMailbox);
        if (isFinal || ending.signal.aborted) {
          onLost('refused', error);
          return;
        }
        if (resting >= LIMITS.codeMailsWaiting) {
          onLost('overload');
          return;
        }
        resting++;
        await sleep(pause);
        resting--;
      }
    }
  }

  return {
    send(mail, asker) {
      if (ending.signal.aborted) {
        onLost('overload');
        return;
      }
      const sent: Promise<void> = deliver(mail, asker).finally(() => sending.delete(sent));
      sending.add(sent);
    },
    async stop() {
      ending.abort();
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
