import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  addCustomer,
  addWebhook,
  ENGINES,
  NO_ENCRYPTION,
  until,
  webhookOf,
} from '../../../test/support/control/webhooks/dispatch-world.ts';
import { openSmtpServer } from '../../../test/support/outbound/smtp-server.ts';
import { type TestDatabase, withStore } from '../../../test/support/store/fixtures.ts';
import { updateRows } from '../../../test/support/store/rows.ts';
import { type Mail, MailError, type Mailer, openMailer } from '../../outbound/mailer.ts';
import type { Store } from '../../store/store.ts';
import { runWebhookLoops } from './loops.ts';
import { type NoticesOptions, noticeText, startNotices } from './notices.ts';

const DAY = 86_400_000;
const NOTICE = {
  webhookId: 'the-id',
  email: 'owner@example.org',
  failures: 20,
  tier: 'team',
  paused: 0,
  disabledAt: 0,
} as const;

/** Notices over one store, with a mail server and time of the test's own. */
interface NoticeRun {
  readonly store: Store;
  readonly open: TestDatabase['open'];
  now: number;
  /** Takes every mail, to begin with. */
  send: (mail: Mail, signal?: AbortSignal) => Promise<void>;
  readonly mails: Mail[];
  readonly outcomes: string[];
  readonly faults: unknown[];
  start(more?: Partial<NoticesOptions>): { stop(): Promise<void> };
}

/** A webhook that was disabled at `at`. */
async function disabledHook({ store }: NoticeRun, at: number, name = 'my hook'): Promise<string> {
  const user = await addCustomer(store, `owner-${name.replace(/\W/g, '')}`);
  return addWebhook(store, user, {
    name,
    enabled: 0,
    failure_count: 20,
    served_at: at,
    notice_due_at: at,
  });
}

for (const { name, create, skip } of ENGINES) {
  describe(`notices on ${name}`, { skip }, () => {
    const scenario = (title: string, scene: (run: NoticeRun) => Promise<void>): void => {
      it(title, () =>
        withStore(create, async (store, open) => {
          const stops: (() => Promise<void>)[] = [];
          const run: NoticeRun = {
            store,
            open,
            now: 50_000_000,
            send: async () => {},
            mails: [],
            outcomes: [],
            faults: [],
            start(more) {
              const abort = new AbortController();
              const mailer: Mailer = {
                async send(mail, signal) {
                  await run.send(mail, signal);
                  run.mails.push(mail);
                },
              };
              const ended = startNotices({
                store,
                clock: () => run.now,
                signal: abort.signal,
                mailer,
                onNotice: (outcome) => run.outcomes.push(outcome),
                onError: (error) => run.faults.push(error),
                ...more,
              });
              const stop = (): Promise<void> => {
                abort.abort();
                return ended;
              };
              stops.push(stop);
              return { stop };
            },
          };
          try {
            await scene(run);
          } finally {
            await Promise.all(stops.map((stop) => stop()));
          }
        }),
      );
    };
    const due = async (run: NoticeRun, id: string): Promise<number | null> =>
      (await webhookOf(run.store, id)).notice_due_at;

    scenario('the owner gets one mail', async (run) => {
      const ids = [await disabledHook(run, run.now, 'one'), await disabledHook(run, run.now, 'two')];
      await addWebhook(run.store, await addCustomer(run.store, 'healthy'));
      run.start();
      for (const id of ids) await until('the notice is sent', async () => (await due(run, id)) === null);
      assert.deepEqual(run.mails.map((mail) => mail.to).toSorted(), [
        'owner-one@example.org',
        'owner-two@example.org',
      ]);
      const mail = run.mails.find(({ to }) => to.startsWith('owner-one'))!;
      assert.match(mail.subject, /"one"/);
      assert.match(mail.text, /20 attempts in a row/);
      assert.ok(mail.text.includes(ids[0]!));
      await until('both are reported', () => run.outcomes.length === 2);
      assert.deepEqual([run.outcomes, run.faults], [['sent', 'sent'], []]);
    });

    scenario('without a mail server it is only reported', async (run) => {
      const id = await disabledHook(run, run.now);
      run.start({ mailer: null });
      await until('it is reported', () => run.outcomes.length === 1);
      assert.deepEqual([run.outcomes, run.mails, await due(run, id)], [['none'], [], null]);
    });

    scenario('a mail that is not taken is tried again after a minute, for a day', async (run) => {
      const began = run.now;
      const id = await disabledHook(run, began);
      run.send = () => Promise.reject(new MailError('EENVELOPE'));
      const first = run.start();
      await until('it is put off', async () => (await due(run, id)) === began + 60_000);
      await first.stop();
      assert.equal(run.faults.length, 1);
      run.now = began + DAY - 1;
      const second = run.start();
      await until('it is put off again', async () => (await due(run, id)) === run.now + 60_000);
      await second.stop();
      assert.deepEqual(run.outcomes, []);
      run.now += 60_000;
      run.start();
      await until('it is given up', async () => (await due(run, id)) === null);
      await until('it is reported', () => run.outcomes.length === 1);
      assert.deepEqual([run.outcomes, run.mails], [['failed'], []]);
    });

    scenario('a mail for which there is no mailbox is not tried again (RFC 5321 §4.2.1)', async (run) => {
      const answers: Record<string, string> = { RCPT: '450 4.2.0 later' };
      const server = await openSmtpServer({ answers });
      try {
        const mailer = openMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'no-reply@uqrp.example' });
        const id = await disabledHook(run, run.now);
        const first = run.start({ mailer });
        await until('it is put off', async () => (await due(run, id)) === run.now + 60_000);
        await first.stop();
        assert.deepEqual([run.outcomes, run.faults.length], [[], 1]);
        answers.RCPT = '550 5.1.1 no such user';
        run.now += 60_000;
        run.start({ mailer });
        await until('it is given up', () => run.outcomes.length === 1);
        assert.deepEqual([run.outcomes, run.faults.length], [['failed'], 1]);
        assert.equal(await due(run, id), null);
      } finally {
        await server.close();
      }
    });

    scenario('what the mail server refuses to everybody gives no mail up', async (run) => {
      const answers: Record<string, string> = {};
      const server = await openSmtpServer({ answers });
      try {
        const mailer = openMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'no-reply@uqrp.example' });
        const id = await disabledHook(run, run.now);
        for (const [command, reply] of [
          ['', '554 5.7.1 not now'],
          ['MAIL', '530 5.7.0 a password is needed'],
          ['MAIL', '550 5.4.5 the limit of the day'],
          ['RCPT', '554 5.7.1 relay is not allowed'],
          ['RCPT', '550 relay not permitted'],
          ['.', '550 5.7.1 refused'],
        ] as const) {
          answers[command] = reply;
          const loops = run.start({ mailer });
          await until(`${reply} puts it off`, async () => (await due(run, id)) === run.now + 60_000);
          await loops.stop();
          delete answers[command];
          run.now += 60_000;
        }
        run.start({ mailer });
        await until('it is sent', () => run.outcomes.length === 1);
        assert.deepEqual(run.outcomes, ['sent']);
      } finally {
        await server.close();
      }
    });

    scenario('a mail that is refused is no fault of the dispatcher', async (run) => {
      const id = await disabledHook(run, run.now);
      const abort = new AbortController();
      const faults: string[] = [];
      const ended = runWebhookLoops({
        store: run.store,
        clock: () => run.now,
        newId: randomUUID,
        random: () => 0.5,
        sendAttempt: () => assert.fail('nothing waits'),
        encryption: NO_ENCRYPTION,
        schedule: [0],
        signal: abort.signal,
        mailer: { send: () => Promise.reject(new MailError('EENVELOPE')) },
        onNotice: () => {},
        onFault: (loop) => faults.push(loop),
        observe: { attempted() {}, ended() {}, arrived() {}, disabled() {}, enqueued() {} },
      });
      await until('it is put off', async () => (await due(run, id)) === run.now + 60_000);
      await until('it is reported', () => faults.length > 0);
      abort.abort();
      await ended;
      assert.deepEqual(faults, ['notices']);
    });

    scenario('a notice says whether failures or the tier disabled the webhook', async (run) => {
      const reasons: string[] = [];
      const told = { onNotice: (outcome: string, reason: string) => reasons.push(`${outcome} ${reason}`) };
      await disabledHook(run, run.now - 1, 'fails');
      const paused = await disabledHook(run, run.now, 'paused');
      await run.store.write((tx) => updateRows(tx, 'webhooks', { disabled_by: 'tier' }, { id: paused }));
      run.start(told);
      await until('both are told', () => reasons.length === 2);
      assert.deepEqual(reasons, ['sent failures', 'sent tier']);
    });

    scenario('a notice that is another by now is left alone', async (run) => {
      const id = await disabledHook(run, run.now);
      const taken = Promise.withResolvers<void>();
      run.send = () => taken.promise;
      run.start();
      await until('it is taken', async () => (await due(run, id)) === run.now + 120_000);
      const again = run.now + 5000;
      await run.store.write((tx) => updateRows(tx, 'webhooks', { notice_due_at: again }));
      taken.resolve();
      await until('it is sent', () => run.outcomes.length === 1);
      assert.equal(await due(run, id), again);
    });

    scenario('told to stop it waits for no mail server, and the mail is sent later', async (run) => {
      const id = await disabledHook(run, run.now);
      run.send = (_mail, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => reject(new MailError('EABORT')), { once: true });
        });
      const notices = run.start();
      await until('it is taken', async () => (await due(run, id)) === run.now + 120_000);
      await notices.stop();
      assert.deepEqual([await due(run, id), run.faults], [run.now + 60_000, []]);
      run.send = async () => {};
      run.now += 60_000;
      run.start();
      await until('it is sent', () => run.outcomes.length === 1);
      assert.equal(run.mails.length, 1);
    });

    scenario('several at once tell each once', async (run) => {
      const other = await run.open(() => run.now);
      for (let index = 0; index < 10; index++) await disabledHook(run, run.now - index, `hook ${index}`);
      run.start();
      run.start({ store: other });
      await until('all are told', () => run.outcomes.length === 10);
      assert.equal(new Set(run.mails.map((mail) => mail.to)).size, 10);
      assert.equal(run.mails.length, 10);
    });
  });
}

describe('the text of a notice', () => {
  it('names the webhook, and says what happened and what to do', () => {
    const { subject, text } = noticeText({ ...NOTICE, name: 'Orders' });
    assert.equal(subject, 'Webhook "Orders" was disabled');
    for (const words of [
      '"Orders" (the-id)',
      '20 attempts',
      'PATCH /api/v1/webhooks/the-id',
      '"enabled": true',
    ]) {
      assert.ok(text.includes(words), words);
    }
  });

  it('names webhooks that were paused for the tier', () => {
    const { subject, text } = noticeText({ ...NOTICE, name: 'x', tier: 'pro', paused: 15 });
    assert.equal(subject, 'Webhooks paused: 15');
    assert.ok(text.includes('the tier pro, which allows 5 webhooks'));
    assert.ok(text.includes('"enabled": true'));
  });

  it('says what comes before a paused webhook can be enabled: with more than the tier allows that is refused', () => {
    const textOf = (tier: 'pro' | 'free') => noticeText({ ...NOTICE, name: 'x', tier, paused: 2 }).text;
    assert.ok(
      textOf('pro').includes('delete others until you have 5 at most, or move to a higher tier; then:'),
    );
    assert.ok(textOf('free').includes('To enable one, move to a tier with webhooks; then:'));
  });

  it('keeps a name to its line', async () => {
    const server = await openSmtpServer();
    try {
      const mailer = openMailer({ url: `smtp://127.0.0.1:${server.port}`, from: 'no-reply@uqrp.example' });
      for (const name of [
        'a\r\nBcc: evil@example.org',
        'a\u2028evil\u2029\u0085\u0000x',
        'a\u202Eevil',
        'a\r\n.\r\nQUIT',
      ]) {
        const { subject, text } = noticeText({ ...NOTICE, name });
        assert.match(subject, /^[^\p{C}\p{Zl}\p{Zp}]+$/u);
        assert.equal(text.split('\n').length, noticeText({ ...NOTICE, name: 'a' }).text.split('\n').length);
        await mailer.send({ to: NOTICE.email, subject, text });
      }
      assert.equal(server.mails.length, 4);
      for (const { to, data } of server.mails) {
        assert.deepEqual(to, [`TO:<${NOTICE.email}>`]);
        assert.doesNotMatch(data, /^(?:Bcc|evil|QUIT)/m);
        assert.match(data, /^Subject: /m);
      }
    } finally {
      await server.close();
    }
  });
});
