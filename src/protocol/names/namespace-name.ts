import { LIMITS } from '../../base/limits.ts';
import type { Schema } from '../input/schema.ts';
import { COMPANY_NAMES } from './company-names.ts';
import { AUTH_PREFIX } from './labels.ts';

const NAME = /^[a-z](?:[a-z0-9-]*[a-z0-9])?$/;

export const NAMESPACE_NAME_SCHEMA = {
  type: 'string',
  minLength: LIMITS.namespaceNameMin,
  maxLength: LIMITS.namespaceNameMax,
  pattern: NAME.source,
  not: { pattern: '^auth-' },
  examples: ['acme'],
} as const satisfies Schema;

/** What is wrong with the name of a new namespace, every fault; empty: a customer may use it. */
export function namespaceNameFaults(name: string): readonly string[] {
  const { namespaceNameMin: min, namespaceNameMax: max } = LIMITS;
  const faults: string[] = [];
  if (name.length < min || name.length > max) faults.push(`name must have ${min} to ${max} characters`);
  if (name !== '' && !NAME.test(name)) {
    faults.push(
      'name must be lower-case letters, digits and hyphens, start with a letter and end with a letter or digit',
    );
  }
  // A query parser reads a label with this prefix as a token, so no query could name the namespace.
  if (name.startsWith(AUTH_PREFIX)) faults.push('name must not start with auth-');
  if (RESERVED_NAMES.has(name)) faults.push('name is reserved');
  return faults;
}

const STRUCTURAL =
  'public system admin api www mail ftp dns nameserver ns ns1 ns2 ns3 ns4 ns01 ns02 ns03 test demo example staging production root ' +
  'localhost internal private';

const OWN = 'uqrp uqrp-staging uqrp-dev svc service';

/** Answered only when UQRP_DEMO is on. */
export const DEMO_NAMESPACES: ReadonlySet<string> = new Set([
  'playground',
  'playground-staging',
  'playground-dev',
]);

export const RESERVED_NAMES: ReadonlySet<string> = new Set([
  ...`${STRUCTURAL} ${OWN}`.split(' '),
  ...COMPANY_NAMES,
  ...DEMO_NAMESPACES,
]);
