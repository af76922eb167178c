/** The calculator of signatures on the page of a webhook. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import en from '../../dashboard/src/text/en.json' with { type: 'json' };
import { Uqrp } from '../../sdk/src/uqrp-sdk.ts';
import { signatureHeader } from '../../src/control/webhooks/send-attempt.ts';
import { browserTest } from '../support/browser/dashboard.ts';

const SECRET = 'c0ffee00'.repeat(8);
const BODY = '{"event":"record.upserted","seq":1}';

browserTest('signature calculator', (get) => {
  it('tells a genuine signature from one over another body, and why', async () => {
    const { page, origin, server, signIn, nextCode, axe, shot } = get();
    server.cli(['user', 'create', 'ada@example.net', '--tier', 'enterprise']);
    await signIn();
    const nobody = new Uqrp({ baseUrl: `${origin}/api/v1` });
    const code = nextCode();
    await nobody.auth.signIn('ada@example.net');
    const { token } = await nobody.auth.verify('ada@example.net', await code);
    const url = 'https://hooks.example.com/uqrp';
    const { id } = await nobody
      .withToken(token)
      .webhooks.create({ name: 'a', url, events: ['record.deleted'] });
    await page.goto(`${origin}/webhooks/${id}?tab=calculator`);
    const seconds = Math.floor(Date.now() / 1000);
    const header = signatureHeader(Buffer.from(BODY), seconds, SECRET);
    await page.getByRole('textbox', { name: 'X-Service-Signature' }).fill(header);
    await page.getByRole('textbox', { name: 'Raw body' }).fill(BODY);
    await page.getByLabel('Signing secret', { exact: true }).fill(SECRET);
    const result = page.getByRole('region', { name: 'Result' });
    await result.getByText(en.calculator.genuine).waitFor();
    await result.getByText(`${seconds}.${BODY}`).waitFor();
    await page.getByRole('textbox', { name: 'Raw body' }).fill(JSON.stringify(JSON.parse(BODY), null, 2));
    await result.getByText(en.calculator.noMatch).waitFor();
    await result.getByText(en.calculator.bodyRewritten).waitFor();
    assert.ok((await result.locator('mark').count()) > 30);
    await axe('signature calculator');
    await shot('signature-calculator');
    await page.getByLabel('Signing secret', { exact: true }).fill('b'.repeat(64));
    await result.getByText(en.calculator.otherSecret).waitFor();
    const kept = await page.evaluate(
      'JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }])',
    );
    assert.ok(!(kept as string).includes('bbbb'));
  });
});
