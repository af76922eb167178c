/** The first things that one does in an account, in their order. */

export type StepName = 'namespace' | 'record' | 'read' | 'dig' | 'webhook' | 'code';

export interface Facts {
  readonly namespaces: number;
  readonly records: number;
  /** Private reads of this month, and those of this page. */
  readonly reads: number;
  /** Queries that the query log has: what this page asks goes over HTTPS, and is not in it. */
  readonly queries: number;
  readonly webhooks: number;
  /** Whether the code of the last step was taken. */
  readonly hasCode: boolean;
}

/** The steps that an account can finish. @param hasWebhooks its tier has some. @param hasDns this server answers DNS */
export function stepsOf(hasWebhooks: boolean, hasDns: boolean): readonly StepName[] {
  const all: readonly StepName[] = ['namespace', 'record', 'read', 'dig', 'webhook', 'code'];
  return all.filter((step) => (step === 'webhook' ? hasWebhooks : step === 'dig' ? hasDns : true));
}

export function doneSteps(steps: readonly StepName[], facts: Facts): ReadonlySet<StepName> {
  const all: Readonly<Record<StepName, boolean>> = {
    namespace: facts.namespaces > 0,
    record: facts.records > 0,
    // Who asks with a program needs no page for it.
    read: facts.reads > 0 || facts.queries > 0,
    dig: facts.queries > 0,
    webhook: facts.webhooks > 0,
    code: facts.hasCode,
  };
  return new Set(steps.filter((step) => all[step]));
}

/** The first one that is left; null: all are done. */
export function nextStep(steps: readonly StepName[], done: ReadonlySet<StepName>): StepName | null {
  return steps.find((step) => !done.has(step)) ?? null;
}
