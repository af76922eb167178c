/**
 * A reporter of node:test that writes the events which run-tests.ts needs to the file TEST_EVENTS, one JSON object a line.
 * It writes at once: a process that is killed has told what it was doing. Node loads it before any test: it also gives the seed of the run,
 * TEST_SEED, to all properties.
 */
import { appendFileSync } from 'node:fs';
import { Transform } from 'node:stream';
import type { TestEvent } from 'node:test/reporters';
import fc from 'fast-check';

export interface TestEnd {
  readonly kind: 'end';
  readonly test: string;
  /** File and line. */
  readonly at: string;
  readonly ms: number;
  /** Whether no suite is around it. */
  readonly top: boolean;
  /**
   * `suite`: its tests are counted in its place. `stood still`: it did not end in the time that a test has, or waits for something that cannot
   * come. `not run`: another one stood still, and took the process with it.
   */
  readonly outcome: 'passed' | 'failed' | 'stood still' | 'not run' | 'skipped' | 'suite';
  /** Why it was skipped. */
  readonly reason: string;
  /** Most memory that the process has had until now. */
  readonly megabytes: number;
}

/** `summary` comes when all tests have ended and nothing keeps the process. */
export type ShareEvent =
  | { readonly kind: 'begin'; readonly test: string }
  | TestEnd
  | { readonly kind: 'summary' };

type Completed = Extract<TestEvent, { type: 'test:complete' }>['data'];

// Taken out of the environment: programs that tests start would get it.
const EVENTS = process.env.TEST_EVENTS!;
delete process.env.TEST_EVENTS;

if (process.env.TEST_SEED !== undefined) fc.configureGlobal({ seed: Number(process.env.TEST_SEED) });

/** Tests that have begun and not ended, by name and place. */
const open = new Set<string>();

function write(event: ShareEvent): void {
  appendFileSync(EVENTS, `${JSON.stringify(event)}\n`);
}

function keyOf({ name, file, line, column }: Pick<Completed, 'name' | 'file' | 'line' | 'column'>): string {
  return `${file}:${line}:${column} ${name}`;
}

function outcomeOf(data: Completed): TestEnd['outcome'] {
  const { details, skip } = data;
  if (skip !== undefined && skip !== false) return 'skipped';
  const { passed, type, error } = details as {
    passed: boolean;
    type?: string;
    error?: { failureType?: string };
  };
  const cause = error?.failureType;
  const isCancelled = cause === 'cancelledByParent';
  if (cause === 'testTimeoutFailure') return 'stood still';
  // A suite fails by its tests, which are counted, or by a hook.
  if (type === 'suite') return passed || isCancelled || cause === 'subtestsFailed' ? 'suite' : 'failed';
  if (isCancelled) return open.has(keyOf(data)) ? 'stood still' : 'not run';
  return passed ? 'passed' : 'failed';
}

function endOf(data: Completed): TestEnd {
  return {
    kind: 'end',
    test: data.name,
    at: `${data.file ?? ''}:${data.line ?? 0}`,
    ms: data.details.duration_ms,
    top: data.nesting === 0,
    outcome: outcomeOf(data),
    reason: typeof data.skip === 'string' ? data.skip : '',
    megabytes: Math.round(process.resourceUsage().maxRSS / 1024),
  };
}

function record({ type, data }: TestEvent): void {
  if (type === 'test:dequeue') {
    open.add(keyOf(data));
    write({ kind: 'begin', test: data.name });
  } else if (type === 'test:complete') {
    write(endOf(data));
    open.delete(keyOf(data));
  } else if (type === 'test:summary' && data.file === undefined) write({ kind: 'summary' });
}

const reporter = new Transform({
  writableObjectMode: true,
  transform: (event: TestEvent, _encoding, done) => {
    record(event);
    done();
  },
});

// biome-ignore lint/style/noDefaultExport: Node loads a reporter by its default export
export default reporter; // oxlint-disable-line import/no-default-export
