/**
 * Pages that follow the flags of a namespace as an application does: each asks for them when its event stream tells it to, and never else. It opens
 * the stream again after the last event whose flags it shows, or without one where it does not know. Whatever goes wrong meanwhile, with nothing
 * that fails each page shows what is stored.
 */
import type { SimulatedControl } from '../control.ts';
import { ModelError, type RestAnswer } from '../model/told.ts';
import type { Random } from '../random.ts';
import { eventOf, type StreamEvent } from './streaming.ts';

export interface Credential {
  readonly kind: 'token' | 'key';
  readonly id: string;
  readonly text: string;
}

/** What an evaluation of all flags must be. */
export interface Wanted {
  readonly status: number;
  /** JSON of values by the names of flags, in their order. */
  readonly flags: string;
}

export interface Watching {
  /** Pages are opened, wait in the background, and come back. */
  perhaps(credential: Credential | null): void;
  /** There is a page with each of these credentials, and none in the background. */
  all(credentials: readonly (Credential | null)[]): void;
  /** @param wantedOf what a page shows by what is stored @param ms until then it may show what was before @throws ModelError */
  expect(wantedOf: (credential: Credential | null) => Promise<Wanted>, ms: number): Promise<void>;
}

interface WatchingOptions {
  readonly random: Random;
  readonly controls: readonly SimulatedControl[];
  readonly prefixOf: (credential: Credential | null) => string;
  /** All flags, of a process, which waits for the state with the tag. Null: no answer came. */
  readonly evaluate: (
    control: SimulatedControl,
    credential: Credential | null,
    tag: string,
  ) => Promise<RestAnswer | null>;
  readonly shownBy: (answer: RestAnswer) => Wanted;
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
  readonly wrong: (error: unknown) => void;
  readonly count: (what: string) => void;
}

interface Page {
  readonly credential: Credential | null;
  /** Null: it was never answered. */
  shown: Wanted | null;
  /** Of the last event whose flags it shows; null: it does not know. */
  lastId: string | null;
  /** The URL of the stream with a ticket, as the last answer had it. */
  url: string | null;
  isAwake: boolean;
  /** Somebody keeps its stream open. */
  isKept: boolean;
  /** Closes its stream. */
  close: () => void;
}

const PAGES_MOST = 3;
/** Before a page opens its stream again. */
const AGAIN_MS = 700;
/** After so many streams that could not be opened it waits in the background: no server answers for hours. */
const FAILURES_MOST = 5;
const LOOK_MS = 100;
const REFUSALS = [401, 403];

export function createWatching(options: WatchingOptions): Watching {
  const { random, controls, prefixOf, evaluate, shownBy, now, pause, wrong, count } = options;
  const pages: Page[] = [];

  function open(credential: Credential | null): Page {
    const page = {
      credential,
      shown: null,
      lastId: null,
      url: null,
      isAwake: false,
      isKept: false,
      close() {},
    };
    pages.push(page);
    if (pages.length > PAGES_MOST) sleep(pages.shift()!);
    return page;
  }

  function sleep(page: Page): void {
    page.isAwake = false;
    page.close();
  }

  function wake(page: Page): void {
    page.isAwake = true;
    if (page.isKept) return;
    page.isKept = true;
    void keep(page)
      .catch(wrong)
      .finally(() => {
        page.isKept = false;
      });
  }

  async function keep(page: Page): Promise<void> {
    for (let failures = 0; page.isAwake && failures < FAILURES_MOST; failures++) {
      if (await follow(page, random.pick(controls))) failures = 0;
      if (page.isAwake) await pause(AGAIN_MS);
    }
    page.isAwake = false;
  }

  /** Until the stream ends. @returns whether there was one */
  async function follow(page: Page, control: SimulatedControl): Promise<boolean> {
    const { credential } = page;
    let text = '';
    let isOpen = true;
    let isOwed = false;
    let isAsking = false;
    let tag = '';
    let id = page.lastId;
    const ended = Promise.withResolvers<void>();

    async function ask(): Promise<void> {
      if (isAsking) return;
      isAsking = true;
      while (isOwed && isOpen) {
        isOwed = false;
        const answer = await evaluate(control, credential, tag);
        // Of another stream by now: a later answer may be there already.
        if (!isOpen) return;
        const isRefused = answer !== null && REFUSALS.includes(answer.status);
        if (answer?.status === 200 || isRefused) page.shown = shownBy(answer);
        if (answer?.status === 200) page.url = answer.body.eventStreams[0].endpoint.requestUri;
        // The namespace may be open again before its stream has ended.
        else if (isRefused) onText(null);
        else {
          isOwed = true;
          await pause(AGAIN_MS);
        }
      }
      isAsking = false;
      if (isOpen) page.lastId = id;
    }

    function take(event: StreamEvent): void {
      id = event.id ?? id;
      if (event.event === null && event.data !== '') {
        count('flags told');
        tag = (JSON.parse(event.data) as { readonly etag: string }).etag;
        isOwed = true;
        // Until it is answered.
        page.lastId = null;
        void ask().catch(wrong);
      } else if (!isAsking && !isOwed) page.lastId = id;
    }

    function onText(next: string | null): void {
      if (next === null) {
        isOpen = false;
        ended.resolve();
      } else if (isOpen) {
        const events = (text + next).split('\n\n');
        text = events.pop()!;
        for (const event of events) take(eventOf(event));
      }
    }

    const byTicket = page.url !== null && random.chance(0.5);
    const headers = {
      ...(credential !== null && !byTicket && { authorization: `Bearer ${credential.text}` }),
      ...(page.lastId !== null && { 'last-event-id': page.lastId }),
    };
    const path = byTicket ? page.url! : `${prefixOf(credential)}/ofrep/v1/events`;
    const opened = await control.stream({ method: 'GET', path, headers }, onText);
    if (opened === null) {
      isOpen = false;
      return false;
    }
    const isRefused = REFUSALS.includes(opened.status);
    // A ticket may have ended, and not what it stands for.
    if (isRefused && byTicket) page.url = null;
    else if (isRefused) {
      page.shown = { status: opened.status, flags: '' };
      // It shows no flags now, and must ask for them though they stay as they were.
      page.lastId = null;
    }
    if (opened.status !== 200 || !page.isAwake) {
      isOpen = false;
      opened.close();
      return false;
    }
    page.close = () => onText(null);
    await ended.promise;
    page.close = () => {};
    opened.close();
    return true;
  }

  return {
    perhaps(credential) {
      if (pages.length === 0 || random.chance(0.2)) wake(open(credential));
      const page = random.pick(pages);
      if (page.isAwake && random.chance(0.3)) sleep(page);
      else wake(page);
    },
    all(credentials) {
      for (const credential of credentials)
        if (!pages.some((page) => page.credential === credential)) open(credential);
      for (const page of pages) wake(page);
    },
    async expect(wantedOf, ms) {
      const end = now() + ms;
      for (const page of [...pages]) {
        const wanted = await wantedOf(page.credential);
        while (page.shown?.status !== wanted.status || page.shown.flags !== wanted.flags) {
          if (now() >= end)
            throw new ModelError(
              `the flags: a page of ${page.credential?.kind ?? 'everybody'} shows ${page.shown?.status} ${page.shown?.flags}, and not ${wanted.status} ${wanted.flags}`,
            );
          wake(page);
          await pause(LOOK_MS);
        }
      }
      count('flags shown');
    },
  };
}
