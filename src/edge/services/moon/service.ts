import { malformed } from '../answers.ts';
import { answeredForDay, dateText, dayOf, parseDate } from '../days.ts';
import { rounded } from '../flat.ts';
import type { Service } from '../service.ts';
import { moonDay } from './day.ts';
import { MOON_ABOUT } from './schema.ts';

/** `get.[<YYYY-MM-DD>.]moon.public.v1` */
export function makeMoon(): Service {
  return {
    resource: 'moon',
    operation: 'get',
    enabled: true,
    about: MOON_ABOUT,
    work: 1,
    answer(params, now) {
      const [date] = params;
      const start = date === undefined ? null : parseDate(date);
      if (params.length > 1 || (date !== undefined && start === null)) return malformed('date');
      const day = start === null ? dayOf(now) : { start, isToday: false };
      const { phase, illumination, age } = moonDay(day.start);
      const fields = {
        date: dateText(day.start),
        phase,
        illum: rounded(illumination, 1),
        age: rounded(age, 2),
      };
      return answeredForDay(fields, day, now);
    },
  };
}
