import { type DestinationStream, destination, pino } from 'pino';
import type { Clock } from '../core/clock.ts';
import { EVENTS, type EventName, type FieldKind, type FieldsOf } from './events.ts';
import { prettyLine } from './pretty.ts';
import { describeError } from './redact.ts';

export interface Log {
  /** Writes one event with its fields and a described error. Drops fields that the table does not have, despite casts. */
  event<E extends EventName>(name: E, fields: FieldsOf<E>, error?: unknown): void;
}

export interface LogOptions {
  readonly clock: Clock;
  /** `json` when not given. */
  readonly format?: 'json' | 'pretty';
  /** Where the lines go; stderr, written at once, so that the last line before a crash is there. */
  readonly stream?: DestinationStream;
}

/** JSON lines: `level`, `time` (ISO 8601), `event`, the event's fields, `error`, `msg`. */
export function createLog(options: LogOptions): Log {
  const sink = options.stream ?? destination({ fd: 2, sync: true });
  const logger = pino(
    {
      base: null,
      timestamp: () => `,"time":"${new Date(options.clock()).toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    options.format === 'pretty' ? readable(sink) : sink,
  );
  return {
    event(name, fields, error) {
      if (!Object.hasOwn(EVENTS, name)) return;
      const row = EVENTS[name];
      const line = {
        event: name,
        ...allowedFields(row.fields, fields),
        ...(error === undefined ? {} : { error: describeError(error) }),
      };
      logger[row.level](line, row.message);
    },
  };
}

/** Turns each JSON line into one for people on its way to `sink`. */
function readable(sink: DestinationStream): DestinationStream {
  return { write: (line) => sink.write(prettyLine(line)) };
}

/** The fields of the table. A value of another kind becomes null. */
function allowedFields(
  kinds: Readonly<Record<string, FieldKind>>,
  fields: object,
): Record<string, number | boolean | string | null> {
  const line: Record<string, number | boolean | string | null> = {};
  for (const [field, kind] of Object.entries(kinds)) {
    const value: unknown = (fields as Record<string, unknown>)[field];
    line[field] = isOfKind(value, kind) ? value : null;
  }
  return line;
}

/** Names of variables contain no data of customers. */
const VARIABLE = /^UQRP_[A-Z0-9_]{1,40}$/;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const VERSION = /^[0-9]{1,5}\.[0-9]{1,5}\.[0-9]{1,5}(?:-[a-z0-9.]{1,20})?(?:\+[a-z0-9.]{1,20})?$/;

/** As in credentials: one label. */
const NODE = /^[a-z0-9-]{1,63}$/;

function isOfKind(value: unknown, kind: FieldKind): value is number | boolean | string {
  if (kind === 'number') return typeof value === 'number' && Number.isFinite(value);
  if (kind === 'boolean') return typeof value === 'boolean';
  if (typeof value !== 'string') return false;
  if (kind === 'variable') return VARIABLE.test(value);
  if (kind === 'request') return UUID.test(value);
  if (kind === 'node') return NODE.test(value);
  if (kind === 'version') return VERSION.test(value);
  return kind.includes(value);
}
