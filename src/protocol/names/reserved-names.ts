import { COMPANY_NAMES } from './company-names.ts';

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
