import type { Page } from 'playwright-core';

/** What a screen reader says of an element: its role and name in the browser's accessibility tree. */
export interface Spoken {
  readonly role: string;
  readonly name: string;
}

/** Somebody who has a keyboard and hears the page. Counts keys. */
export interface KeyboardUser {
  /** Such as `Enter`, `Control+k`, `g`. */
  readonly press: (...keys: string[]) => Promise<void>;
  readonly type: (text: string) => Promise<void>;
  readonly heard: () => Promise<Spoken>;
  /**
   * Presses Tab (or `by`) until the element has the focus.
   * @param name the whole name, or a pattern of it
   * @throws Error with what was heard on the way, after 60 elements
   */
  readonly tabTo: (role: string, name: string | RegExp, by?: string) => Promise<void>;
  /** Waits until the focus is there without a key. */
  readonly isAt: (role: string, name: string | RegExp) => Promise<void>;
  /** Keys since the last call; typed text counts one key, as anybody has to type it. */
  readonly keys: () => number;
}

const MOST_TABS = 60;
const WAIT_MS = 30_000;

function matches({ role, name }: Spoken, wantedRole: string, wanted: string | RegExp): boolean {
  return role === wantedRole && (typeof wanted === 'string' ? name === wanted : wanted.test(name));
}

export async function keyboardUser(page: Page): Promise<KeyboardUser> {
  const session = await page.context().newCDPSession(page);
  await session.send('Accessibility.enable');
  let pressed = 0;
  const heard = async (): Promise<Spoken> => {
    const { result } = await session.send('Runtime.evaluate', { expression: 'document.activeElement' });
    if (result.objectId === undefined) return { role: 'none', name: '' };
    const { nodes } = await session.send('Accessibility.getPartialAXTree', {
      objectId: result.objectId,
      fetchRelatives: false,
    });
    return {
      role: String(nodes[0]?.role?.value ?? 'none'),
      name: String(nodes[0]?.name?.value ?? '').trim(),
    };
  };
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) {
      pressed++;
      await page.keyboard.press(key);
    }
  };
  const isAt = async (role: string, name: string | RegExp): Promise<void> => {
    const until = Date.now() + WAIT_MS;
    let now = await heard();
    while (!matches(now, role, name)) {
      if (Date.now() > until)
        throw new Error(`the focus is at ${now.role} “${now.name}”, not at ${role} ${String(name)}`);
      await page.waitForTimeout(50);
      now = await heard();
    }
  };
  return {
    press,
    heard,
    isAt,
    async type(text) {
      pressed++;
      await page.keyboard.type(text);
    },
    async tabTo(role, name, by = 'Tab') {
      const wanted = page.getByRole(role as 'button', { name, exact: true });
      // What is still loading would be passed by, and the way be a round longer.
      await wanted.first().waitFor();
      const isThere = wanted.and(page.locator(':focus'));
      const passed: Spoken[] = [];
      for (let tabs = 0; tabs < MOST_TABS; tabs++) {
        await press(by);
        // The browser tells a screen reader of what was just drawn a moment later: until then nobody goes on.
        if ((await isThere.count()) > 0) return await isAt(role, name);
        passed.push(await heard());
      }
      throw new Error(
        `no ${role} ${String(name)} among ${passed.map((one) => `${one.role} “${one.name}”`).join(', ')}`,
      );
    },
    keys() {
      const count = pressed;
      pressed = 0;
      return count;
    },
  };
}
