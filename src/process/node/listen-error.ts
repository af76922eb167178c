import type { Transport } from '../../base/network/transport.ts';

export interface ListenFacts {
  readonly transport: Transport;
  /** 0: any free one. */
  readonly port: number;
}

const VARIABLES: Readonly<Record<Transport, string>> = {
  udp: 'UQRP_DNS_PORT',
  tcp: 'UQRP_DNS_PORT',
  dot: 'UQRP_DOT_PORT',
  doh: 'UQRP_DOH_PORT',
};

/** DNS workers could not start. `listener` is null when the reason was not a port. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  /** The system's error name, such as EADDRINUSE, or EXIT: the thread ended by itself. */
  readonly code: string;
  readonly listener: ListenFacts | null;

  constructor(code: string, listener: ListenFacts | null) {
    super(
      listener === null
        ? `a DNS worker could not start: ${code}`
        : `${portText(listener)} cannot be opened: ${code}`,
    );
    this.code = code;
    this.listener = listener;
  }
}

/** Such as `UQRP_DNS_PORT 5300/tcp`. */
export function portText({ transport, port }: ListenFacts): string {
  return `${VARIABLES[transport]} ${port}/${transport === 'udp' ? 'udp' : 'tcp'}`;
}

/** Opens a listener. @throws ListenError in place of the system's error */
export async function listenOn<T>(listener: ListenFacts, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw new ListenError(errorCode(error), listener);
  }
}

export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : 'UNKNOWN';
}
