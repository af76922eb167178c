/** The first things that one does in an account, in their order. */

export type StepName = 'namespace' | 'record' | 'token' | 'read' | 'webhook';
export const STEPS: readonly StepName[] = ['namespace', 'record', 'token', 'read', 'webhook'];

export interface Facts {
  readonly namespaces: number;
  readonly records: number;
  /** Live query tokens of the namespaces that were looked at. */
  readonly tokens: number;
  /** Private reads of this month, and those of this page. */
  readonly reads: number;
  readonly webhooks: number;
}

export function doneSteps(facts: Facts): ReadonlySet<StepName> {
  const all: Readonly<Record<StepName, boolean>> = {
    namespace: facts.namespaces > 0,
    record: facts.records > 0,
    // A read needs a token, or a namespace that needs none.
    token: facts.tokens > 0 || facts.reads > 0,
    read: facts.reads > 0,
    webhook: facts.webhooks > 0,
  };
  return new Set(STEPS.filter((step) => all[step]));
}

/** The first one that is left; null: all are done. */
export function nextStep(done: ReadonlySet<StepName>): StepName | null {
  return STEPS.find((step) => !done.has(step)) ?? null;
}
