import { invalid } from '../../core/errors.ts';
import { Faults, Fields, isText, type JsonObject } from '../../core/input/fields.ts';
import { LIMITS } from '../../core/limits.ts';
import { isLabel } from '../../core/names/labels.ts';
import type { ApiOperation } from '../accounts/actor.ts';

/** Lists have no repetitions. Empty: both operations, or all namespaces. */
export interface NewApiKey {
  readonly name: string;
  readonly operations: readonly ApiOperation[];
  readonly namespaces: readonly string[];
  /** Milliseconds since the epoch, or null: never. */
  readonly expiresAt: number | null;
}

const NO_SCOPES: Pick<NewApiKey, 'operations' | 'namespaces'> = { operations: [], namespaces: [] };

/** Reads the body of POST /api_keys. @throws AppError 422 with every fault */
export function parseNewApiKey(body: JsonObject, now: number): NewApiKey {
  const faults = new Faults();
  const fields = new Fields(body, ['name', 'scopes', 'expires_at'], faults);
  const name = fields.requiredName('name', LIMITS.apiKeyName);
  const scopes = fields.object('scopes');
  const lists = scopes === undefined ? NO_SCOPES : readScopes(scopes, faults);
  const expiresAt = fields.isNull('expires_at') ? null : fields.futureTime('expires_at', now);
  if (faults.any || name === undefined) throw invalid(...faults.messages);
  return { name, ...lists, expiresAt: expiresAt ?? null };
}

function readScopes(scopes: JsonObject, faults: Faults): Pick<NewApiKey, 'operations' | 'namespaces'> {
  const fields = new Fields(scopes, ['operations', 'namespaces'], faults, 'scopes');
  const operations = fields.listOf('operations', LIMITS.scopeOperations, isOperation, 'read and write') ?? [];
  const namespaces = fields.listOf('namespaces', LIMITS.apiKeyNamespaces, isText, 'strings') ?? [];
  if (!namespaces.every(isLabel)) fields.fault('namespaces', 'has a namespace that does not exist');
  return { operations, namespaces };
}

function isOperation(value: unknown): value is ApiOperation {
  return value === 'read' || value === 'write';
}
