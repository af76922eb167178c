import { encodeQuery } from '../../../sdk/src/dns/message/message.ts';
import { generateKeySet, type KeySet } from '../../../src/dns/dnssec/key-set.ts';
import { type Clockwork, START, signedNode, ZONE, zoneOf } from '../dns/query/signed-node.ts';

/** A zone of the server's own code, with its keys and one namespace that everybody may read. */
export interface SignedZone {
  readonly keys: KeySet;
  readonly clock: Clockwork;
  /** The reply to a question with DO. */
  ask(name: string, type: number): Uint8Array;
  readonly query: (name: string, type: number) => Uint8Array<ArrayBuffer>;
}

const NAMESPACE = {
  type: 'namespace.upserted',
  namespace: 'open',
  id: '00000000-0000-4000-8000-000000000000',
  publicRead: true,
  suspended: false,
  recordsCount: 1,
  createdAt: START,
  updatedAt: START,
} as const;

const RECORD = {
  type: 'record.upserted',
  key: 'greeting.open.v1',
  namespace: 'open',
  resource: 'greeting',
  version: 'v1',
  data: 'aGVsbG8=',
  contentType: 'text/plain',
  ttlSeconds: 300,
  expiresAt: null,
} as const;

export async function signedZone(): Promise<SignedZone> {
  const clock: Clockwork = { now: START };
  const keys = generateKeySet(ZONE, START);
  const { handler, view } = signedNode({ zones: zoneOf(keys, clock) }, clock);
  await view.apply([NAMESPACE, RECORD], 1);
  const query = (name: string, type: number): Uint8Array<ArrayBuffer> =>
    encodeQuery(name, { type, dnssecOk: true });
  return {
    keys,
    clock,
    query,
    ask(name, type) {
      const reply = handler.slow(query(name, type), 'tcp', false);
      if (!(reply instanceof Uint8Array)) throw new Error('the node gave no reply at once');
      return reply;
    },
  };
}
