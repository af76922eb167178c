import type { BrowserContext, ConsoleMessage, Page } from 'playwright-core';

/** What must not happen in a page, as it happened. */
export interface Watch {
  readonly faults: readonly string[];
  /** Faults that a test provokes, such as the line of chromium about a refused request. */
  allow(pattern: RegExp): void;
}

/** Watches every page of a context, from its first document on. */
export async function watchContext(context: BrowserContext, origin: string): Promise<Watch> {
  const seen: string[] = [];
  const allowed: RegExp[] = [];
  const note = (text: string): void => {
    seen.push(text);
  };
  await context.exposeBinding('noteViolation', (_source, text: string) => note(`policy: ${text}`));
  await context.addInitScript(`addEventListener('securitypolicyviolation', (event) => {
    noteViolation(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample);
  });`);
  context.on('page', (page: Page) => {
    page.on('console', (message: ConsoleMessage) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      note(`console ${message.type()}: ${message.text()} (${message.location().url})`);
    });
    page.on('pageerror', (error: Error) => note(`page: ${error.stack ?? error.message}`));
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.origin !== origin) note(`foreign request: ${request.url()}`);
  });
  return {
    get faults() {
      return seen.filter((text) => !allowed.some((pattern) => pattern.test(text)));
    },
    allow: (pattern) => {
      allowed.push(pattern);
    },
  };
}
