import type { BrowserContext, Page } from 'playwright-core';

/** Milliseconds that a step of a flow waits for what it expects, as Playwright has it. With 17 jobs a core a page took more than 15 s to load. */
const STEP_MS = 30_000;
/** Milliseconds by which an answer comes later, at least and at most. */
const [LEAST_MS, MOST_MS] = [50, 300];

/** How many times slower the pages are: `DASHBOARD_SLOW` of the environment, 1 without it. */
export const SLOWER = Number(process.env.DASHBOARD_SLOW ?? 1);

/** The numbers of a seed from 0 to below 1: a linear congruential generator, so that a run can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Makes the pages of a context as slow as on a weak phone or a busy machine, which is how races show before they fail by chance:
 * the main thread of a page runs `DASHBOARD_SLOW` times slower (4 to 8 are of use), and every answer comes 50 to 300 ms later, each by
 * another time, so that answers pass one another. `DASHBOARD_SEED` chooses the times. Without `DASHBOARD_SLOW` nothing is done.
 * @returns what to await for a new page before it is used
 */
export function slowPages(context: BrowserContext): (page: Page) => Promise<void> {
  if (SLOWER <= 1) return async () => {};
  context.setDefaultTimeout(STEP_MS * SLOWER);
  const random = randomFrom(Number(process.env.DASHBOARD_SEED ?? 1));
  const slow = async (page: Page): Promise<void> => {
    const session = await context.newCDPSession(page);
    session.on('Fetch.requestPaused', ({ requestId }) => {
      const later = LEAST_MS + random() * (MOST_MS - LEAST_MS);
      // The page may be gone by then.
      setTimeout(() => void session.send('Fetch.continueRequest', { requestId }).catch(() => {}), later);
    });
    await session.send('Fetch.enable', { patterns: [{ requestStage: 'Response' }] });
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWER });
  };
  const started = new WeakMap<Page, Promise<void>>();
  const start = (page: Page): Promise<void> => {
    const begun = started.get(page) ?? slow(page).catch(() => {});
    started.set(page, begun);
    return begun;
  };
  context.on('page', (page) => void start(page));
  return start;
}
