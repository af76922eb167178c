/** A newcomer's first minute, as README.md tells it: from a new server to an own record that was read over DNS, in six actions. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { browserTest } from '../support/browser/dashboard.ts';

const ACTIONS_MAX = 6;
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

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

  it('README.md says the same six', () => {
    const section = readme.slice(readme.indexOf('## The first minute'));
    const steps = section.slice(0, section.indexOf('\n## ', 5)).match(/^\d\. .+$/gm) ?? [];
    assert.equal(steps.length, ACTIONS_MAX);
    for (const word of ['Open', 'Send code', 'Sign in', 'Create', 'Save', 'Read it over DNS'])
      assert.ok(
        steps.some((step) => step.includes(word)),
        word,
      );
  });
});
