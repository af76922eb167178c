import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { eventually, inTime } from '../../e2e/client.ts';

const ALL = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The dark theme has other colours and nothing else (`light-dark()` in tokens.css): what depends on colours is looked at once more there. */
const OF_COLOURS = ['color-contrast', 'link-in-text-block'];

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** @param only tags, or names of rules */
async function violations(page: Page, only: readonly string[]): Promise<readonly Violation[]> {
  // Half a megabyte: a document gets it once.
  if (!(await page.evaluate('globalThis.axe !== undefined')))
    await page.evaluate(`(() => { ${axe.source} })()`);
  return await page.evaluate(
    `axe.run({ runOnly: ${JSON.stringify(only)} }).then(({ violations }) => violations)`,
  );
}

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

/** The page as it is now, in both themes and as wide as a phone. @throws AssertionError with each violation */
export async function assertAccessible(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  const found: string[] = [];
  const check = async (form: string, only = ALL): Promise<void> => {
    for (const { id, help, nodes } of await inTime(`axe, ${name}, ${form}`, violations(page, only))) {
      for (const { html, failureSummary } of nodes)
        found.push(`${name}, ${form}: ${id}: ${help}\n  ${html}\n  ${failureSummary ?? ''}`);
    }
  };
  const show = (scheme: 'dark' | 'light'): Promise<void> =>
    inTime(`${name}, ${scheme}`, page.emulateMedia({ colorScheme: scheme }));
  await show('dark');
  await check('dark', OF_COLOURS);
  await show('light');
  await check('light');
  await laidOut(page, PHONE);
  await check('390 px');
  const isCutOff = await page.evaluate(
    'document.documentElement.scrollWidth > document.documentElement.clientWidth',
  );
  if (isCutOff) found.push(`${name}, 390 px: the page scrolls sideways`);
  // What only wide pages show cannot take the focus before the page has its width again.
  await laidOut(page, DESKTOP);
  assert.deepEqual(found, []);
}

/**
 * Gives the page this size, and waits until it has drawn itself twice: rows get another height then, and move. What is being typed in is scrolled to
 * the middle, as a phone does: half of it may be under the edge of its table.
 */
async function laidOut(page: Page, size: typeof DESKTOP): Promise<void> {
  const { width } = size;
  await inTime(`a page of ${width} px`, page.setViewportSize(size));
  await eventually(async () => (await page.evaluate('innerWidth')) === width);
  const drawn = page.evaluate(`(async () => {
    for (let frames = 0; frames < 2; frames++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    if (document.activeElement !== document.body) document.activeElement?.scrollIntoView({ block: 'center' });
  })()`);
  await inTime(`two frames of a page of ${width} px`, drawn);
}
