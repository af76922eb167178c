/** One life of an account with a passkey of a real browser: Debian's chromium with a virtual authenticator. */
import { live } from '../e2e/life.ts';
import { openMailbox } from '../e2e/mailbox.ts';
import { browserMissing, openBrowser } from '../support/control/passkeys/browser.ts';
import { startUqrp } from '../support/server-process.ts';

const missing = browserMissing();
if (missing === null) {
  const mailbox = await openMailbox();
  const server = await startUqrp({ UQRP_SMTP_URL: mailbox.url });
  // Any page of the origin will do: passkeys belong to the origin, not to a path.
  const browser = await openBrowser(`http://localhost:${server.ports.http}/livez`);
  try {
    await live(server, mailbox, browser);
    process.stdout.write('a passkey of chromium was added and signed in; the account was used and left\n');
  } finally {
    await browser.close();
    await server.remove();
    await mailbox.close();
  }
} else {
  process.stdout.write(`skipped: ${missing}\n`);
}
