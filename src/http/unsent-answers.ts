import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { HeldOctets } from '../base/lifecycle/held-octets.ts';
import { personOf } from './request.ts';
import { onResponseEnd } from './streams.ts';

/**
 * Counts each answer from its making until the system has taken its last octet. Above the bound the connection of an answer ends. A streamed
 * answer is not counted: it has a place of its own, and makes its next part when the client has taken one.
 */
export function holdUnsentAnswers(app: FastifyInstance, held: HeldOctets): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { raw } = reply;
    const octets = octetsOf(request, payload);
    if (octets > 0) {
      const hold = held.holder(personOf(request), () => raw.destroy());
      hold(octets);
      onResponseEnd(raw, () => hold(0));
    }
    done();
  });
}

function octetsOf(request: FastifyRequest, payload: unknown): number {
  // A file of the dashboard: all answers share its octets. Or a short refusal.
  if (request.is404) return 0;
  if (typeof payload === 'string') return Buffer.byteLength(payload);
  return Buffer.isBuffer(payload) ? payload.length : 0;
}
