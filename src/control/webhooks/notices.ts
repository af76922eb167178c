import type { Timers } from '../../base/lifecycle/timers.ts';
import { LIMITS, TIERS } from '../../base/limits.ts';
import type { Clock } from '../../base/time.ts';
import { type Mail, MailError, type Mailer } from '../../outbound/mailer.ts';
import type { Store } from '../../store/store.ts';
import { storeLoop } from '../../store/store-loop.ts';
import { type DueNotice, moveNotice, nextNoticeAt, takeNotice } from '../../store/webhooks/webhooks.ts';

/** Milliseconds between tries of a refused mail, and from the disabling of the webhook to the last try. */
const RETRY_MS = 60_000;
const GIVE_UP_MS = 86_400_000;
/** How long a process may hold a notice, milliseconds. Longer than one mail takes. */
const TAKEN_MS = 120_000;
/** Milliseconds between two searches while units commit. */
const POLL_MS = 1000;

/** `sent`: the mail server accepted it. `failed`: no further try. `none`: no mail server is configured. */
export type NoticeResult = 'sent' | 'failed' | 'none';
/** Why the webhook was disabled. `failures`: too many in a row. `tier`: the tier allows fewer, and others may be paused with it. */
type NoticeReason = 'failures' | 'tier';

export interface NoticesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timers?: Timers | undefined;
  /** Null: owners get no mail. */
  readonly mailer: Mailer | null;
  /** Called once for each notice: of a webhook that was disabled, or of those that a tier paused together. */
  readonly onNotice: (outcome: NoticeResult, reason: NoticeReason) => void;
  /** A mail or a unit of work failed; it is tried again. */
  readonly onError: (error: unknown) => void;
}

/** Mails the owners of disabled webhooks until aborted. Resolves when it has stopped; never rejects. */
export async function startNotices(options: NoticesOptions): Promise<void> {
  const { store, clock, signal, timers, onError } = options;
  await storeLoop({
    store,
    signal,
    timers,
    busyMs: POLL_MS,
    pass: async () => {
      const at = await nextNoticeAt(store.read);
      if (at === null || at > clock()) return at === null ? null : at - clock();
      // Another process may have taken it.
      return (await sendNotice(options)) ? 0 : POLL_MS;
    },
    onError: (error, failures) => {
      if (failures === 1) onError(error);
    },
  });
}

/** @returns whether there was a notice to send */
async function sendNotice(options: NoticesOptions): Promise<boolean> {
  const { store, clock, signal, mailer, onNotice, onError } = options;
  const now = clock();
  const taken = now + TAKEN_MS;
  const notice = await store.write((tx) => takeNotice(tx, now, taken));
  if (notice === null) return false;
  const move = (to: number | null): Promise<void> =>
    store.write((tx) => moveNotice(tx, notice.webhookId, taken, to));
  const end = async (outcome: NoticeResult): Promise<true> => {
    await move(null);
    onNotice(outcome, notice.paused > 0 ? 'tier' : 'failures');
    return true;
  };
  if (mailer === null) return end('none');
  try {
    await mailer.send({ to: notice.email, ...noticeText(notice) }, signal);
  } catch (error) {
    const isFinal = error instanceof MailError && error.isNoMailbox;
    if (isFinal || clock() >= notice.disabledAt + GIVE_UP_MS) return end('failed');
    await move(clock() + RETRY_MS);
    if (!signal.aborted) onError(error);
    return true;
  }
  return end('sent');
}

/** Text of the mail. The webhook's name is untrusted: line ends and invisible characters are removed. */
export function noticeText(notice: DueNotice): Pick<Mail, 'subject' | 'text'> {
  return notice.paused > 0 ? pausedText(notice) : disabledText(notice);
}

function pausedText({ paused, tier }: DueNotice): Pick<Mail, 'subject' | 'text'> {
  const { webhooks } = TIERS[tier];
  return {
    subject: `Webhooks paused: ${paused}`,
    text: [
      `Your account was moved to the tier ${tier}, which allows ${webhooks} webhooks. The newest above that number were paused: ${paused}.`,
      '',
      'Deliveries that were waiting for them have failed and will not be sent any more, and nothing new is',
      'delivered while they are paused. A move to a higher tier does not enable them again: you do.',
      '',
      `The paused webhooks have "enabled": false in GET /api/v1/webhooks, and count too. To enable one, ${
        webhooks === 0
          ? 'move to a tier with webhooks'
          : `delete others until you have ${webhooks} at most, or move to a higher tier`
      }; then:`,
      '',
      '  PATCH /api/v1/webhooks/ID',
      '  {"webhook": {"enabled": true}}',
      '',
    ].join('\n'),
  };
}

function disabledText({ webhookId, name, failures }: DueNotice): Pick<Mail, 'subject' | 'text'> {
  const label = oneLine(name);
  return {
    subject: `Webhook "${label}" was disabled`,
    text: [
      `Your webhook "${label}" (${webhookId}) was disabled: ${failures} attempts in a row failed.`,
      '',
      'Deliveries that were waiting for it have failed and will not be sent any more, and nothing new is',
      'delivered while it is disabled. What happens meanwhile is not delivered later either.',
      '',
      `The last attempts, and why they failed: GET /api/v1/webhooks/${webhookId}/deliveries`,
      '',
      'Once its endpoint answers with a 2xx again, enable it:',
      '',
      `  PATCH /api/v1/webhooks/${webhookId}`,
      '  {"webhook": {"enabled": true}}',
      '',
      `A webhook is disabled after ${LIMITS.webhookFailures} failed attempts in a row; any 2xx resets the count to 0.`,
      '',
    ].join('\n'),
  };
}

/** Replaces controls, line separators and format characters (which can reverse the direction of text). */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}
