import type { Compilable, CompiledQuery, DialectAdapter, QueryResult } from 'kysely';
import type { Db } from '../store.ts';

/** Stands for a parameter while a statement is built. Not a value of any column, so it is found again. */
class Placeholder {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const PLACEHOLDERS = new Proxy({}, { get: (_target, name) => new Placeholder(String(name)) });

/** What is bound at each place of the text: a parameter, or the same value every time. */
interface Plan {
  readonly compiled: CompiledQuery;
  readonly binds: readonly unknown[];
}

/**
 * A statement that is built and compiled once for each open store and run many times: Kysely otherwise takes longer over
 * a small statement than SQLite does. The text must be the same whatever the parameters are.
 *
 * @param build the query over placeholders: `p.id` may stand wherever a value of that type is bound
 * @returns runs it with parameters, bound by name
 */
export function prepared<P extends object, R>(
  build: (db: Db, p: Readonly<P>) => Compilable<R>,
): (db: Db, parameters: Readonly<P>) => Promise<QueryResult<R>> {
  const plans = new WeakMap<DialectAdapter, Plan>();
  return async (db, parameters) => {
    const executor = db.getExecutor();
    let plan = plans.get(executor.adapter);
    if (plan === undefined) {
      const compiled = build(db, PLACEHOLDERS as P).compile();
      plan = { compiled, binds: compiled.parameters };
      plans.set(executor.adapter, plan);
    }
    const { sql, query, queryId } = plan.compiled;
    const bound = plan.binds.map((bind) =>
      bind instanceof Placeholder ? parameters[bind.name as keyof P] : bind,
    );
    return executor.executeQuery<R>({ sql, query, queryId, parameters: bound });
  };
}
