/** What the two variables of the transparency log of datasets mean together: the policy by which a server has its checkpoints cosigned. */

import { resolve } from 'node:path';
import { systemFiles } from '../../base/files.ts';
import {
  hasDisjointQuorums,
  type PolicyWitness,
  type TrustPolicy,
} from '../../protocol/transparency/policy.ts';
import { readPolicy } from '../../protocol/transparency/signatures.ts';

export interface LogSettings {
  /** Text of the policy, which has no fault: `readPolicy` reads it. */
  readonly policy: string;
  /** Origins of the witnesses. The operator chose them, so they may have private addresses. */
  readonly own: readonly string[];
}

interface LogVariables {
  readonly UQRP_ROLE?: string;
  readonly UQRP_DATASETS_LOG?: boolean;
  readonly UQRP_DATASETS_LOG_POLICY?: string | null;
}

interface LogReading {
  /** Null: there is no transparency log. */
  readonly datasetsLog: LogSettings | null;
  readonly faults: readonly string[];
}

const NAME = 'UQRP_DATASETS_LOG_POLICY';

/** Reads the policy file. An edge has no use for it: it learns from control what to answer. */
export function readLogSettings(values: LogVariables): LogReading {
  if (values.UQRP_DATASETS_LOG !== true || values.UQRP_ROLE === 'edge')
    return { datasetsLog: null, faults: [] };
  const { UQRP_DATASETS_LOG_POLICY: path } = values;
  if (path == null) return failed(`UQRP_DATASETS_LOG needs ${NAME}, a file with the witnesses of the log`);
  const read = readFile(resolve(path));
  if (typeof read === 'string') return failed(`${NAME}: ${read}`);
  const result = readPolicy(read);
  const faults = result.ok ? serverFaults(result.policy) : result.faults;
  if (faults.length > 0 || !result.ok) return failed(...faults.map((fault) => `${NAME}: ${fault}`));
  const own = result.policy.witnesses.flatMap(({ url }) => (url === null ? [] : [new URL(url).origin]));
  return { datasetsLog: { policy: Buffer.from(read).toString('utf8'), own: [...new Set(own)] }, faults: [] };
}

function failed(...faults: readonly string[]): LogReading {
  return { datasetsLog: null, faults };
}

/** @returns what is wrong, or the octets */
function readFile(path: string): Uint8Array | string {
  try {
    return systemFiles.read(path);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    return `the file cannot be read (${code}). Put it there, and let this user read it`;
  }
}

/** What a server asks of a policy beyond what a reader does. */
function serverFaults(policy: TrustPolicy): string[] {
  const faults = policy.witnesses.flatMap(urlFault);
  // Without a quorum nobody cosigns, and nothing guards a restored database: that is a choice, and no mistake.
  if (policy.quorum !== null && hasDisjointQuorums(policy)) {
    faults.push(
      'two groups of its witnesses without a common one are each a quorum: they could cosign two histories. Ask for more than half',
    );
  }
  return faults;
}

function urlFault({ name, url }: PolicyWitness): string[] {
  if (url === null) return [`witness ${name} needs a URL, where checkpoints are submitted`];
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isUsable =
    parsed !== null &&
    (parsed.protocol === 'https:' || parsed.protocol === 'http:') &&
    parsed.username === '' &&
    parsed.password === '' &&
    parsed.search === '' &&
    parsed.hash === '';
  return isUsable ? [] : [`the URL of witness ${name} must be http or https, without credentials and query`];
}
