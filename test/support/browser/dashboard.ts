import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, before, describe } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { inTime } from '../../e2e/client.ts';
import { browserMissing } from '../control/passkeys/browser.ts';
import { startUqrp, type Uqrp } from '../server-process.ts';
import { assertAccessible } from './axe.ts';
import { launchChromium } from './chromium.ts';
import { SLOWER, slowPages } from './slow-page.ts';
import { smallPng } from './small-png.ts';
import { watchContext } from './watch-page.ts';

const BUILD = fileURLToPath(new URL('../../../dashboard/build.ts', import.meta.url));
/** Pictures that documents show in both themes. */
const IN_DARK = new Set(['landing', 'overview']);
const SCREENS = fileURLToPath(new URL('../../../docs/screens/', import.meta.url));
const VIEWPORT = { width: 1280, height: 800 };
const EMAIL = 'ada@example.net';

export interface Dashboard {
  readonly server: Uqrp;
  /** `http://localhost:PORT` */
  readonly origin: string;
  readonly context: BrowserContext;
  /** The first page, 1280 by 800. */
  readonly page: Page;
  /** Signs in with the code that the server prints, and waits for the overview. The account of the first sign-in is made by it. */
  readonly signIn: (page?: Page, email?: string) => Promise<void>;
  /** Forgets the session in the browser. The page goes first: what it still asks for would be refused, which is a fault of a page. */
  readonly forgetSession: () => Promise<void>;
  /** The code of a sign-in, as soon as the server has printed it. Ask before the code is sent. */
  readonly nextCode: (email?: string) => Promise<string>;
  /** A fault of a page that the test provokes. */
  readonly allow: (pattern: RegExp) => void;
  /** @throws AssertionError when axe finds something in light, dark or at 390 pixels */
  readonly axe: (name: string, page?: Page) => Promise<void>;
  /** Writes docs/screens/NAME.png where DASHBOARD_SCREENS is set. */
  readonly shot: (name: string, page?: Page) => Promise<void>;
  /** Ends the browser and the server. @throws AssertionError for faults of the pages */
  readonly close: () => Promise<void>;
}

export async function openDashboard(env: NodeJS.ProcessEnv = {}): Promise<Dashboard> {
  execFileSync(process.execPath, [BUILD], { stdio: 'ignore' });
  const server = await startUqrp(env);
  const codes = watchCodes(server);
  const browser = await launchChromium();
  const origin = `http://localhost:${server.ports.http}`;
  const context = await browser.newContext({ viewport: VIEWPORT, colorScheme: 'light', locale: 'en-GB' });
  const watch = await watchContext(context, origin);
  const slowed = slowPages(context);
  const page = await context.newPage();
  await slowed(page);
  const nextCode = (email = EMAIL): Promise<string> => codes.next(email);
  return {
    server,
    origin,
    context,
    page,
    nextCode,
    allow: (pattern) => watch.allow(pattern),
    async signIn(on = page, email = EMAIL) {
      await on.goto(`${origin}/sign-in`);
      await on.getByRole('textbox', { name: 'E-mail' }).fill(email);
      const code = nextCode(email);
      await on.getByRole('button', { name: 'Send code' }).click();
      await on.getByRole('textbox', { name: 'Code' }).fill(await code);
      await on.getByRole('button', { name: 'Sign in', exact: true }).click();
      const later = on.getByRole('button', { name: 'Not now' });
      await on.getByRole('heading', { level: 1, name: 'Overview' }).or(later).first().waitFor();
      if (await later.isVisible()) await later.click();
      await on.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    },
    async forgetSession() {
      await page.goto('about:blank');
      await context.clearCookies();
    },
    async axe(name, on = page) {
      // On a slow page it takes a minute, and what it finds does not depend on time.
      if (SLOWER === 1) await assertAccessible(on, name);
    },
    async shot(name, on = page) {
      if (process.env.DASHBOARD_SCREENS === undefined) return;
      mkdirSync(SCREENS, { recursive: true });
      const keep = async (file: string): Promise<void> => {
        const png = await on.screenshot({ animations: 'disabled', caret: 'hide' });
        writeFileSync(`${SCREENS}${file}.png`, smallPng(png));
      };
      await keep(name);
      if (!IN_DARK.has(name)) return;
      await on.emulateMedia({ colorScheme: 'dark' });
      await keep(`${name}-dark`);
      await on.emulateMedia({ colorScheme: 'light' });
    },
    async close() {
      await browser.close();
      await server.remove();
      assert.deepEqual(watch.faults, []);
    },
  };
}

interface Codes {
  readonly next: (email: string) => Promise<string>;
}

/**
 * Waits until the effects of what is drawn have run: Preact runs them in a task after the next frame. Before that nothing
 * more is asked for, and no scroll event has come. Shortcuts and the focus do not wait for it.
 */
export async function effectsRan(page: Page): Promise<void> {
  const drawn = page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
  await inTime('a frame', drawn);
}

/** The row of a record. A mark may stand before its key: changes by others come with the feed, before or after a list is read again. */
export function recordRow(page: Page, key: string): Locator {
  const name = new RegExp(`(?:^|\\s)${key.replaceAll('.', String.raw`\.`)}$`);
  return page.getByRole('row').filter({ has: page.getByRole('rowheader', { name }) });
}

/** The six digits in the lines that the server prints for an address. */
function watchCodes({ child }: Uqrp): Codes {
  const waiting: { email: string; take: (code: string) => void }[] = [];
  let rest = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    const lines = (rest + chunk.toString()).split('\n');
    // A chunk may end within a line.
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const code = /\b\d{6}\b/.exec(line)?.[0];
      const at = waiting.findIndex(({ email }) => line.includes(email));
      if (code !== undefined && at >= 0) waiting.splice(at, 1)[0]!.take(code);
    }
  });
  return {
    next(email) {
      const { promise, resolve: take } = Promise.withResolvers<string>();
      waiting.push({ email, take });
      return inTime(`the code of ${email}`, promise);
    },
  };
}

/**
 * A suite with one server and one browser, which is skipped where there is no chromium.
 * @param tests gets a function that gives the dashboard inside of tests
 */
export function browserTest(
  name: string,
  tests: (get: () => Dashboard) => void,
  env: NodeJS.ProcessEnv = {},
): void {
  const missing = browserMissing();
  describe(`dashboard: ${name}`, { skip: missing ?? false }, () => {
    let dashboard: Dashboard | null = null;
    before(async () => {
      dashboard = await openDashboard(env);
    });
    after(async () => {
      await dashboard?.close();
    });
    tests(() => {
      if (dashboard === null) throw new Error('the dashboard is not open yet');
      return dashboard;
    });
  });
}
