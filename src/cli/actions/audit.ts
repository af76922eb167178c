/** Who did what: over REST with UQRP_TOKEN, or of any account from the store. */
import { UsageError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { type Clock, formatTime } from '../../base/time.ts';
import { auditForOperator } from '../../control/audit/operator.ts';
import { commandConfig, withStore } from '../context.ts';
import { escapeControls, print, table } from '../output.ts';
import { openRest } from '../rest.ts';
import { durationSeconds } from './put-input.ts';

export interface AuditOptions {
  /** A duration before now, or a time. */
  readonly since?: string;
  readonly until?: string;
  readonly actor?: string;
  readonly action?: string;
  readonly namespace?: string;
  readonly key?: string;
  /** Rows at most, as text. */
  readonly limit?: string;
  /** Mail address of an account: the operator reads it from the store. */
  readonly user?: string;
  readonly names?: boolean;
  readonly api?: string;
}

type Row = Awaited<ReturnType<typeof auditForOperator>>[number];

const LIMIT_DEFAULT = 100;

/** Prints the newest rows. */
export async function showAudit(clock: Clock, options: AuditOptions, json: boolean): Promise<void> {
  const limit = limitOf(options.limit);
  const filters = filtersOf(options, clock());
  const rows = await (options.user === undefined
    ? readOverRest(filters, limit, options)
    : readStore(clock, options.user, filters, limit, options.names === true));
  if (json) return print(JSON.stringify(rows));
  if (rows.length === 0) return print('no rows');
  print(table(rows.map(cellsOf)));
}

type Filters = Readonly<Record<string, string>>;

async function readOverRest(filters: Filters, limit: number, { api, names }: AuditOptions): Promise<Row[]> {
  if (names === true) throw new UsageError('--names goes with --user');
  const rest = openRest(api, commandConfig());
  return rest.read(async ({ audit }) => {
    const rows: Row[] = [];
    for await (const row of audit.list(filters, { limit: Math.min(limit, LIMITS.pageMax) })) {
      rows.push(row);
      if (rows.length === limit) break;
    }
    return rows;
  });
}

function readStore(
  clock: Clock,
  email: string,
  filters: Filters,
  limit: number,
  withNames: boolean,
): Promise<Row[]> {
  return withStore(clock, ({ deps }) => auditForOperator(deps, email, { filters, limit, withNames }));
}

function filtersOf(options: AuditOptions, now: number): Filters {
  const { since, until, actor, action, namespace, key } = options;
  const all = {
    since: since && timeOf(since, '--since', now),
    until: until && timeOf(until, '--until', now),
  };
  return Object.fromEntries(
    Object.entries({ ...all, actor, action, namespace, key }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
}

const DURATION = /^\d+[a-z]$/;

/** `1d` is a day ago; else it is a time, which the reader of the filter checks. */
function timeOf(text: string, option: string, now: number): string {
  if (!DURATION.test(text)) return text;
  return formatTime(now - durationSeconds(text, option) * 1000);
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT;
  const limit = /^[1-9][0-9]{0,5}$/.test(text) ? Number(text) : 0;
  if (limit === 0 || limit > LIMITS.auditRows) {
    throw new UsageError(`--limit takes a number from 1 to ${LIMITS.auditRows}`);
  }
  return limit;
}

function cellsOf({ at, actor, action, outcome, object }: Row): string[] {
  const name = object.name ?? object.namespace ?? object.id ?? object.kind ?? '';
  return [
    at,
    escapeControls(actor.name ?? actor.id ?? actor.kind),
    outcome === 'done' ? `${action}${switched(object.on)}` : `${action} (${outcome})`,
    escapeControls(object.count === null ? name : `${name} (${object.count})`),
  ];
}

function switched(on: boolean | undefined): string {
  if (on === undefined) return '';
  return on ? ' on' : ' off';
}
