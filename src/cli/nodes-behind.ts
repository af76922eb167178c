/** Asks a control process which nodes have not reported a signing key yet: a rollover waits for them. */
import type { Clock } from '../base/clock.ts';
import type { RolloverOutcome } from '../dns/dnssec/keys/rollover.ts';
import { isBehind, type NodeReport } from '../feed/nodes/node-states.ts';
import { askNodes } from '../feed/nodes/operator.ts';
import { withControl } from './control-connection.ts';
import type { ControlSettings } from './control-credentials.ts';
import { InputError } from './output.ts';

type AskReports = () => Promise<readonly Pick<NodeReport, 'name' | 'state' | 'late'>[]>;

/**
 * A new key may sign only when every node answers it in DNSKEY: without it there, validators that ask that node find the signatures of the
 * others bogus.
 * @throws InputError with the names of the nodes that have not reported it, and of those that are late: they may have it or not
 */
export async function refuseWhileBehind(
  zone: string,
  outcome: RolloverOutcome,
  ask: AskReports,
): Promise<void> {
  if (outcome.kind !== 'advanced' || outcome.step !== 'switch') return;
  const { keyTag } = outcome;
  const behind = (await ask())
    .filter((node) => isBehind(node, zone, keyTag))
    .map(({ name, late }) => (late ? `${name} (late)` : name));
  if (behind.length === 0) return;
  throw new InputError(
    `Key ${keyTag} of ${zone} does not sign yet: not every node has reported it. Behind: ${behind.join(', ')}. ` +
      'Start these nodes, or remove them with "uqrp node remove"; then run this command again. --despite-nodes switches at once.',
  );
}

/** @throws InputError when no control process answers */
export async function askReports(control: ControlSettings, clock: Clock): Promise<readonly NodeReport[]> {
  try {
    return await withControl(control, clock, ({ exchange }) => askNodes(exchange));
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(
      `Nobody says which keys the nodes have: ${error.message}. --despite-nodes switches without asking.`,
    );
  }
}
