import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import {
  openSmtpServer,
  type SmtpOptions,
  type SmtpServer,
} from '../../test/support/outbound/smtp-server.ts';
import { MailError, type MailerOptions, openMailer } from './mailer.ts';

const FROM = 'no-reply@uqrp.example';
const MAIL = { to: 'owner@example.org', subject: 'A subject', text: 'A line\n.dot\nünicode\n' };

/** With a server of its own; `url` may name its port as `PORT`. */
async function withServer(
  options: SmtpOptions,
  run: (
    server: SmtpServer,
    open: (url: string, more?: Partial<MailerOptions>) => ReturnType<typeof openMailer>,
  ) => Promise<void>,
): Promise<void> {
  const server = await openSmtpServer(options);
  try {
    await run(server, (url, more) =>
      openMailer({ url: url.replace('PORT', String(server.port)), from: FROM, deadlineMs: 5000, ...more }),
    );
  } finally {
    await server.close();
  }
}

async function codeOf(sent: Promise<void>): Promise<string> {
  try {
    await sent;
    return 'sent';
  } catch (error) {
    assert.ok(error instanceof MailError);
    assert.doesNotMatch(inspect(error, { showHidden: true }), /owner|secret|subject|words of the server/i);
    return error.code;
  }
}

describe('the mailer', () => {
  it('loads its library again when that failed for the first mail', () =>
    withServer({}, async (server, open) => {
      let failures = 1;
      const mailer = open('smtp://127.0.0.1:PORT', {
        load: () =>
          failures-- > 0
            ? Promise.reject(Object.assign(new Error('no file handle'), { code: 'EMFILE' }))
            : import('nodemailer'),
      });
      assert.equal(await codeOf(mailer.send(MAIL)), 'EMFILE');
      assert.equal(await codeOf(mailer.send(MAIL)), 'sent');
      assert.equal(server.mails.length, 1);
    }));

  it('hands a mail to the server', () =>
    withServer({}, async (server, open) => {
      await open('smtp://127.0.0.1:PORT').send(MAIL);
      const [mail, ...more] = server.mails;
      assert.equal(more.length, 0);
      assert.equal(mail!.from, `FROM:<${FROM}>`);
      assert.deepEqual(mail!.to, ['TO:<owner@example.org>']);
      assert.deepEqual([mail!.isSecure, mail!.login], [false, null]);
      const [head = '', ...text] = mail!.data.split('\n\n');
      const fields = head.split('\n');
      for (const field of [`From: ${FROM}`, 'To: owner@example.org', 'Subject: A subject']) {
        assert.ok(fields.includes(field), field);
      }
      assert.match(head, /^Auto-Submitted: auto-generated$/m);
      assert.match(head, /^Message-ID: <[^>\s]+@uqrp\.example>$/m);
      assert.match(text.join('\n\n'), /^A line\n\.dot\n=C3=BCnicode/);
    }));

  it('uses STARTTLS if offered, and checks the certificate with smtps or a password', async () => {
    type Row = [title: string, SmtpOptions, url: string, trusted: boolean, code: string, ...seen: unknown[]];
    const [none, offered, implicit] = [{}, { offersStartTls: true }, { implicitTls: true }];
    const table: readonly Row[] = [
      ['plain', none, 'smtp://127.0.0.1:PORT', false, 'sent', false, null],
      ['offered', offered, 'smtp://127.0.0.1:PORT', false, 'sent', true, null],
      ['with a password', offered, 'smtp://us%20er:p%3Ass@127.0.0.1:PORT', true, 'sent', true, 'us er:p:ss'],
      ['a password for a stranger', offered, 'smtp://user:secret@127.0.0.1:PORT', false, 'ESOCKET'],
      [
        'a password without TLS',
        none,
        'smtp://user:secret@127.0.0.1:PORT',
        false,
        'sent',
        false,
        'user:secret',
      ],
      ['smtps', implicit, 'smtps://127.0.0.1:PORT', true, 'sent', true, null],
      ['smtps, a stranger', implicit, 'smtps://127.0.0.1:PORT', false, 'ESOCKET'],
      ['smtps where there is none', none, 'smtps://127.0.0.1:PORT', true, 'ESOCKET'],
    ];
    for (const [title, options, url, trusted, code, isSecure, login] of table) {
      await withServer(options, async (server, open) => {
        const mailer = open(url, trusted ? { ca: server.cert } : {});
        assert.equal(await codeOf(mailer.send(MAIL)), code, title);
        const seen = server.mails.map((mail) => [mail.isSecure, mail.login]);
        assert.deepEqual(seen, code === 'sent' ? [[isSecure, login]] : [], title);
      });
    }
  });

  it('reports a failure by its code only', async () => {
    const words = 'words of the server about owner@example.org';
    const table: readonly [SmtpOptions, code: string, url?: string][] = [
      [{ answers: { RCPT: `550 ${words}` } }, 'EENVELOPE'],
      [{ answers: { MAIL: `451 ${words}` } }, 'EENVELOPE'],
      [{ answers: { '.': `554 ${words}` } }, 'EMESSAGE'],
      [{ answers: { AUTH: `535 ${words}` } }, 'EAUTH', 'smtp://user:secret@127.0.0.1:PORT'],
      [{ answers: { '': `554 ${words}` } }, 'EPROTOCOL'],
      [{}, 'ESOCKET', 'smtp://127.0.0.1:1'],
    ];
    for (const [options, code, url = 'smtp://127.0.0.1:PORT'] of table) {
      await withServer(options, async (server, open) => {
        assert.equal(await codeOf(open(url).send(MAIL)), code);
        assert.equal(server.mails.length, code === 'EMESSAGE' ? 1 : 0);
      });
    }
  });

  it('ends at its deadline', async () => {
    for (const stage of ['', 'EHLO', 'RCPT', '.']) {
      await withServer({ answers: { [stage]: null } }, async (_server, open) => {
        assert.equal(
          await codeOf(open('smtp://127.0.0.1:PORT', { deadlineMs: 50 }).send(MAIL)),
          'EABORT',
          stage,
        );
        const abort = new AbortController();
        const sent = open('smtp://127.0.0.1:PORT').send(MAIL, abort.signal);
        setTimeout(() => abort.abort(), 20);
        assert.equal(await codeOf(sent), 'EABORT', stage);
      });
    }
  });

  it('lets no text become a header, a recipient or a command', () =>
    withServer({}, async (server, open) => {
      const mailer = open('smtp://127.0.0.1:PORT');
      const hostile = [
        'a\r\nBcc: evil@example.org',
        'a\nBcc: evil@example.org',
        'a\r\n\r\nevil',
        'a\r\n.\r\nQUIT',
      ];
      for (const subject of hostile) await mailer.send({ ...MAIL, subject });
      await mailer.send({ ...MAIL, text: 'a\r\n.\r\nMAIL FROM:<evil@example.org>\r\n' });
      for (const to of ['a@example.org, evil@example.org', 'a@example.org\r\nRCPT TO:<evil@example.org>']) {
        await codeOf(mailer.send({ ...MAIL, to }));
      }
      for (const { from, to, data } of server.mails) {
        assert.equal(from, `FROM:<${FROM}>`);
        assert.ok(to.length === 1 && !to[0]!.startsWith('TO:<evil'), String(to));
        const [head = ''] = data.split('\n\n');
        assert.doesNotMatch(head, /^(?:Bcc|evil)/im);
      }
      assert.ok(server.mails.length >= hostile.length + 1);
    }));
});
