/** A newcomer's first minute, as docs/FIRST-RECORD.md tells it: from a new server to an own record that was read over DNS, in six actions. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';

const ACTIONS_MAX = 6;
const told = readFileSync(new URL('../../docs/FIRST-RECORD.md', import.meta.url), 'utf8');

browserTest('first minute', (get) => {
  it('six actions lead to a record of one’s own that is read over DNS', async () => {
    const { page, origin, nextCode, axe, shot } = get();
    const done: string[] = [];
    /** An action: fill in a form and send it, or press one button. */
    const act = async (name: string, how: () => Promise<unknown>): Promise<void> => {
      done.push(name);
      await how();
    };
    await act('open the page', () => page.goto(`${origin}/sign-in`));
    const code = nextCode();
    await act('send the address', async () => {
      await page.getByRole('textbox', { name: 'E-mail' }).fill('ada@example.net');
      await page.getByRole('button', { name: 'Send code' }).click();
    });
    await act('send the code', async () => {
      await page.getByRole('textbox', { name: 'Code' }).fill(await code);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    });
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
    await axe('an empty account');
    await shot('overview-empty');
    await act('make a namespace', async () => {
      await page.getByRole('textbox', { name: 'Name' }).fill('acme');
      await page.getByRole('button', { name: 'Create', exact: true }).click();
    });
    await act('write a record', async () => {
      await page.getByRole('textbox', { name: 'Data' }).fill('hello, world');
      await page.getByRole('button', { name: 'Save' }).click();
    });
    await act('read it over DNS', () => page.getByRole('button', { name: 'Read it over DNS' }).click());
    await page.getByRole('region', { name: 'Answer' }).getByText('hello, world').waitFor();
    assert.ok(done.length <= ACTIONS_MAX, done.join(', '));
    await axe('the first answer');
    await shot('first-minute');
  });

  it('the page waits for a query from the terminal, and says that it arrived', async () => {
    const { page, server, axe } = get();
    const command = await page
      .getByRole('figure', { name: 'dig with your token' })
      .locator('code')
      .innerText();
    const [, port, name] =
      /^dig @127\.0\.0\.1 -p (\d+) TXT (get\.auth-svcq[0-9a-v]{52}\.greeting\.acme\.v1\.uqrp\.net) \+short$/.exec(
        command,
      )!;
    assert.equal(port, String(server.ports.dns));
    await page.getByText('Waiting for your query…').waitFor();
    await axe('the wait for a query');
    server.cli(['query', name!, '--server', '127.0.0.1', '--port', port!]);
    const arrived = page.getByRole('region', { name: 'Your query' });
    await arrived.getByText('There you are:').waitFor();
    assert.match((await arrived.textContent()) ?? '', /UDP, .+ ms, hit/);
    await axe('a query that arrived');
  });

  it('ends with code in three languages, which has the key of the record', async () => {
    const { page, axe } = get();
    for (const [tab, words] of [
      ['Shell', 'get.auth-$TOKEN.greeting.acme.v1.uqrp.net'],
      ['Python', '"greeting.acme.v1"'],
      ['ESP32, C', '"greeting.acme.v1"'],
    ] as const) {
      await page.getByRole('tab', { name: tab }).click();
      await page.getByRole('figure', { name: tab }).getByText(words).waitFor();
    }
    assert.equal(await page.getByText('uqrp user tier').count(), 0);
    await axe('the last step');
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('region', { name: 'First steps' }).waitFor({ state: 'detached' });
  });

  it('sample data are a namespace with twelve records', async () => {
    const { page, origin, signIn, forgetSession, axe } = get();
    await page.evaluate('localStorage.clear()');
    await forgetSession();
    await signIn(page, 'grace@example.net');
    await page.getByText('They count in your quota', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Sample data' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Read it over DNS' }).waitFor();
    await page.goto(`${origin}/records`);
    await page.getByRole('rowheader', { name: /^sensor-1\.temperature\.sample-/ }).waitFor();
    await page.getByRole('rowheader', { name: /^support\.sample-/ }).waitFor();
    await axe('sample data');
  });

  it('docs/FIRST-RECORD.md says the same six', () => {
    const steps = told.match(/^\d\. .+$/gm) ?? [];
    assert.equal(steps.length, ACTIONS_MAX);
    for (const word of ['Open', 'Send code', 'Sign in', 'Create', 'Save', 'Read it over DNS'])
      assert.ok(
        steps.some((step) => step.includes(word)),
        word,
      );
  });
});
