import { answered, malformed, momentary } from '../answers.ts';
import { weekday } from '../days.ts';
import type { FlatFields } from '../flat.ts';
import type { Service } from '../service.ts';
import { instantText, parseInstant, weekText } from './instant.ts';
import { EPOCH_ABOUT } from './schema.ts';

/** `get.[<seconds, milliseconds or ISO 8601>.]epoch.public.v1` */
export function makeEpoch(): Service {
  return {
    resource: 'epoch',
    operation: 'get',
    enabled: true,
    about: EPOCH_ABOUT,
    answer(params, now) {
      const [label] = params;
      if (label === undefined) return momentary(fieldsOf(now), now);
      if (params.length > 1) return malformed('value');
      const instant = parseInstant(label.toLowerCase());
      if (typeof instant === 'string') return malformed(instant);
      return answered(fieldsOf(instant), { ttl: EPOCH_ABOUT.ttl, now });
    },
  };
}

function fieldsOf(ms: number): FlatFields {
  return { sec: ms / 1000, iso: instantText(ms), day: weekday(ms), week: weekText(ms) };
}
