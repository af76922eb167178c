import type { UdpChoice, UdpPath } from '../../../core/transport.ts';
import type { Listener } from '../shared/listener.ts';
import { loadUdpAddon } from './addon.ts';
import { listenUdpBatch } from './batch-listener.ts';
import { listenUdp } from './node-listener.ts';
import type { UdpOptions } from './reply-finisher.ts';

export interface EitherUdp {
  readonly listener: Listener;
  readonly path: UdpPath;
}

/** DNS over UDP by batches where that is wanted and possible, else with Node's own sockets. Both behave alike. */
export async function listenUdpEither(
  options: UdpOptions,
  wanted: UdpChoice,
  addon = wanted === 'auto' ? loadUdpAddon() : null,
): Promise<EitherUdp> {
  if (addon !== null) {
    try {
      return { listener: await listenUdpBatch(options, addon), path: 'batch' };
    } catch (error) {
      // The system calls are not there. Anything else, a taken port say, would be no better without them.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSYS') throw error;
    }
  }
  return { listener: await listenUdp(options), path: 'node' };
}
