import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { createManualTimers } from '../../../test/support/base/lifecycle/manual-timers.ts';
import { makeSelfSigned } from '../../base/certificates.ts';
import { nextTurn } from '../../base/lifecycle/timers.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Mail, MailError, type Mailer, openMailer } from '../../outbound/mailer.ts';
import { type CodeOutbox, codeLine, codeMail, openCodeOutbox } from './mails.ts';

const PUBLIC_URL = 'https://api.example.test';
const TLS = makeSelfSigned({ hosts: [], now: Date.now() });
const mailTo = (to: string, code = '048213'): Mail => codeMail(to, code, PUBLIC_URL);

interface World {
  readonly outbox: CodeOutbox;
  readonly taken: { readonly to: string; readonly secure: boolean; readonly text: string }[];
  readonly lost: unknown[];
}

/** An outbox before a real mail server of this process. */
async function withOutbox(
  options: SMTPServerOptions,
  run: (world: World) => Promise<void>,
  deadlineMs = 5_000,
): Promise<void> {
  const taken: World['taken'] = [];
  const server = new SMTPServer({
    authOptional: true,
    key: TLS.key,
    cert: TLS.cert,
    closeTimeout: 100,
    onData(stream, session, done) {
      const to = session.envelope.rcptTo[0]?.address ?? '';
      void text(stream).then((content) => {
        taken.push({ to, secure: session.secure, text: content });
        done();
      });
    },
    ...options,
  });
  server.on('error', () => {});
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  const mailer = openMailer({ url: `smtp://127.0.0.1:${port}`, from: 'no-reply@example.test', deadlineMs });
  const lost: unknown[] = [];
  const onLost = (reason: unknown): void => void lost.push(reason);
  const outbox = openCodeOutbox({ mailer, onLost, random: randomBytes, retryMs: [1, 1] });
  try {
    await run({ outbox, taken, lost });
  } finally {
    await outbox.stop();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  }
}

async function eventually(check: () => boolean): Promise<void> {
  const end = performance.now() + 60_000;
  while (!check()) {
    assert.ok(performance.now() < end, 'nothing happened in 60 s');
    await sleep(5);
  }
}

const busy = (): Error => Object.assign(new Error('try again later'), { responseCode: 450 });
const refusal = (): Error => Object.assign(new Error('5.1.1 no such mailbox'), { responseCode: 550 });

describe('mails with sign-in codes', () => {
  it('go over STARTTLS, and have one number of six digits', () =>
    withOutbox({}, async ({ outbox, taken, lost }) => {
      outbox.send(mailTo('ann@example.org'), 'network');
      await eventually(() => taken.length === 1);
      const [mail] = taken;
      assert.deepEqual([mail?.to, mail?.secure], ['ann@example.org', true]);
      const body = mail!.text.split('\r\n\r\n').slice(1).join('\r\n\r\n');
      assert.deepEqual(body.match(/\d{6,}/g), ['048213']);
      assert.match(mail!.text, /^Auto-Submitted: auto-generated\r$/m);
      assert.deepEqual(lost, []);
    }));

  it('go in clear text to a server without STARTTLS', () =>
    withOutbox({ disabledCommands: ['STARTTLS'] }, async ({ outbox, taken }) => {
      outbox.send(mailTo('ann@example.org'), 'network');
      await eventually(() => taken.length === 1);
      assert.equal(taken[0]?.secure, false);
    }));

  for (const [what, reply, expected] of [
    ['that cannot be taken now are tried three times', busy, 3],
    ['for which there is no mailbox are tried once', refusal, 1],
  ] as const) {
    it(`${what}, then lost and reported`, async () => {
      let tries = 0;
      await withOutbox(
        {
          onRcptTo(_address, _session, done) {
            tries += 1;
            done(reply());
          },
        },
        async ({ outbox, taken, lost }) => {
          outbox.send(mailTo('ann@example.org'), 'network');
          await eventually(() => lost.length === 1);
          assert.deepEqual([lost, taken, tries], [['refused'], [], expected]);
        },
      );
    });
  }

  it("that wait for their next attempt are in nobody's way, and each is tried again (all places stayed taken)", async () => {
    const timers = createManualTimers();
    const sent: string[] = [];
    const lost: unknown[] = [];
    let isAway = true;
    const mailer: Mailer = {
      async send({ to }) {
        if (isAway) throw new MailError('EMESSAGE');
        sent.push(to);
      },
    };
    const onLost = (reason: unknown): void => void lost.push(reason);
    const outbox = openCodeOutbox({ mailer, onLost, random: randomBytes, timers });
    for (let i = 0; i < LIMITS.codeMails; i++) outbox.send(mailTo(`refused${i}@example.org`), 'a');
    await timers.advance(0);
    isAway = false;
    outbox.send(mailTo('ann@example.org'), 'b');
    await timers.advance(0);
    assert.deepEqual(sent, ['ann@example.org']);
    await timers.advance(2_000);
    assert.equal(sent.length, 1 + LIMITS.codeMails);
    assert.deepEqual([lost, timers.pending()], [[], []]);
    await outbox.stop();
  });

  it('of a network that asks for most neither delay another one nor take its place', async () => {
    const waits: (() => void)[] = [];
    const begun: string[] = [];
    const mailer: Mailer = {
      send({ to }) {
        begun.push(to);
        return new Promise((resolve) => waits.push(resolve));
      },
    };
    const lost: unknown[] = [];
    const onLost = (reason: unknown): void => void lost.push(reason);
    const outbox = openCodeOutbox({ mailer, onLost, random: randomBytes });
    const all = LIMITS.codeMails + LIMITS.codeMailsWaiting;
    for (let i = 0; i < all; i++) outbox.send(mailTo(`many${i}@example.org`), 'many');
    assert.deepEqual(lost, []);
    outbox.send(mailTo('ann@example.org'), 'ann');
    await nextTurn();
    assert.deepEqual(lost, ['overload']);
    outbox.send(mailTo('one-more@example.org'), 'many');
    await nextTurn();
    assert.deepEqual(lost, ['overload', 'overload']);
    // Turns of askers and of recipients follow each other.
    for (let i = 0; i < 4; i++) {
      waits.shift()!();
      await nextTurn();
    }
    assert.ok(begun.includes('ann@example.org'), 'it is the turn of the other network');
    const stopped = outbox.stop();
    for (const end of waits) end();
    await stopped;
  });

  it('reach the server after a refusal that passes', async () => {
    let tries = 0;
    await withOutbox(
      {
        onRcptTo(_address, _session, done) {
          tries += 1;
          done(tries === 1 ? busy() : null);
        },
      },
      async ({ outbox, taken, lost }) => {
        outbox.send(mailTo('ann@example.org'), 'network');
        await eventually(() => taken.length === 1);
        assert.deepEqual(lost, []);
      },
    );
  });

  it('do not wait for a server that hangs: each has a deadline, and the sender goes on at once', () =>
    withOutbox(
      { onConnect() {} },
      async ({ outbox, lost }) => {
        outbox.send(mailTo('ann@example.org'), 'network');
        assert.deepEqual(lost, []);
        await eventually(() => lost.length === 1);
      },
      100,
    ));

  it('wait in bounded number behind a slow server, and a further code of an address leaves the one that waits (security finding 4)', async () => {
    const { promise: opened, resolve: release } = Promise.withResolvers<void>();
    const begun: string[] = [];
    const taken: Mail[] = [];
    // Not a real server: a thousand mails take it a minute and more on a busy machine.
    const mailer: Mailer = {
      async send(mail) {
        begun.push(mail.to);
        await opened;
        taken.push(mail);
      },
    };
    const lost: unknown[] = [];
    const onLost = (reason: unknown): void => void lost.push(reason);
    const outbox = openCodeOutbox({ mailer, onLost, random: randomBytes });
    for (let i = 0; i < LIMITS.codeMails; i++) outbox.send(mailTo(`first${i}@example.org`), 'network');
    for (let i = 1; i < LIMITS.codeMailsWaiting; i++) outbox.send(mailTo(`next${i}@example.org`), 'network');
    outbox.send(mailTo('next1@example.org', '777111'), 'network');
    await nextTurn();
    assert.deepEqual([lost, begun.length], [[], LIMITS.codeMails]);
    outbox.send(mailTo('next1@example.org', '888222'), 'network');
    await nextTurn();
    assert.deepEqual(lost, ['overload']);
    release();
    while (taken.length < LIMITS.codeMails + LIMITS.codeMailsWaiting) await nextTurn();
    const codes = taken.flatMap(({ to, text }) =>
      to === 'next1@example.org' ? [/\d{6}(?=\n)/.exec(text)![0]] : [],
    );
    assert.deepEqual(codes, ['048213', '777111']);
    await outbox.stop();
  });

  it('after a stop none is taken', () =>
    withOutbox({}, async ({ outbox, taken, lost }) => {
      await outbox.stop();
      outbox.send(mailTo('ann@example.org'), 'network');
      assert.deepEqual([taken, lost], [[], ['overload']]);
    }));
});

describe('texts with a sign-in code', () => {
  it('have one number of six digits, whatever the origin is', () => {
    for (const url of [PUBLIC_URL, 'https://h123456.example', 'http://localhost:65535']) {
      assert.deepEqual(codeMail('a@b.c', '048213', url).text.match(/\d{6,}/g), ['048213']);
    }
  });

  it('the line for the operator begins with the code', () => {
    assert.match(codeLine('user123456@example.org', '048213'), /^048213 is the sign-in code of user123456@/);
    assert.equal(codeLine('a@b.c', '048213').trim().includes('\n'), false);
  });
});
