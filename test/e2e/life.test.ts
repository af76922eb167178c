import { after, before, describe, it } from 'node:test';
import { softwareAuthenticator } from '../support/control/passkeys/authenticator.ts';
import { startUqrp, type Uqrp } from '../support/server-process.ts';
import { live } from './life.ts';
import { type Mailbox, openMailbox } from './mailbox.ts';

describe('one life of an account', () => {
  let server: Uqrp;
  let mailbox: Mailbox;
  before(async () => {
    mailbox = await openMailbox();
    server = await startUqrp({ UQRP_SMTP_URL: mailbox.url });
  });
  after(async () => {
    await server.remove();
    await mailbox.close();
  });

  // test/ci/browser-life.ts lives the same life with a browser.
  it('from the sign-up to the sign-out, over HTTP, SMTP and DNS', async () => {
    const authenticator = softwareAuthenticator(`http://localhost:${server.ports.http}`);
    await live(server, mailbox, {
      create: async (options) => authenticator.create(options),
      get: async (options) => authenticator.get(options),
    });
  });
});
