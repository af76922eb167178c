/** A test that fails now and then. Its failure is told and fails nothing, until it is mended. */
export interface Quarantined {
  /** The name of the test, without those of its suites. */
  readonly test: string;
  /** The day on which it was put here, YYYY-MM-DD. */
  readonly since: string;
  /** What is known of the cause. */
  readonly why: string;
}

/** Empty: test/runner/report.test.ts sees to it. */
export const QUARANTINE: readonly Quarantined[] = [];
