import type { UdpChoice, UdpPath } from '../../base/network/transport.ts';
import type { Listener } from '../shared/listener.ts';
import { loadUdpAddon } from './addon.ts';
import { listenUdpBatch } from './batch-listener.ts';
import { listenUdp } from './node-listener.ts';
import type { UdpOptions } from './reply-finisher.ts';

export interface EitherUdp {
  readonly listener: Listener;
  readonly path: UdpPath;
}

/** DNS over UDP: by batches where wanted and possible, else with Node's sockets. Both behave alike. */
export async function listenUdpEither(
  options: UdpOptions,
  wanted: UdpChoice,
  addon = wanted === 'auto' ? loadUdpAddon() : null,
): Promise<EitherUdp> {
  if (addon !== null) {
    try {
      return { listener: await listenUdpBatch(options, addon), path: 'batch' };
    } catch (error) {
      // The system calls are missing. Other errors (port in use) would occur with Node's sockets too.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSYS') throw error;
    }
  }
  return { listener: await listenUdp(options), path: 'node' };
}
