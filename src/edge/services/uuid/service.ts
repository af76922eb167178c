import { randomFillSync, randomUUID } from 'node:crypto';
import { malformed, momentary } from '../answers.ts';
import type { Service } from '../service.ts';
import { UUID_ABOUT } from './schema.ts';

const OCTETS = 16;
const TIME_OCTETS = 6;

/** `get.[v4.|v7.]uuid.public.v1` */
export function makeUuid(): Service {
  return {
    resource: 'uuid',
    operation: 'get',
    enabled: true,
    about: UUID_ABOUT,
    answer(params, now) {
      const version = params.length > 1 ? null : (params[0] ?? 'v4').toLowerCase();
      if (version === 'v4') return momentary({ uuid: randomUUID(), ver: 4 }, now);
      if (version === 'v7') return momentary({ uuid: uuidOfTime(now), ver: 7 }, now);
      return malformed('value');
    },
  };
}

/** Version 7: milliseconds since the epoch, then 74 random bits (RFC 9562 §5.7). */
function uuidOfTime(now: number): string {
  const octets = randomFillSync(Buffer.alloc(OCTETS), TIME_OCTETS);
  octets.writeUIntBE(now, 0, TIME_OCTETS);
  octets[6] = 0x70 | (octets[6]! & 0x0f);
  octets[8] = 0x80 | (octets[8]! & 0x3f);
  return octets.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
