import { t } from '../../text/text.ts';
import { secondsUntil } from './webhook-state.ts';

/** `in 4:09`, or what there is to say without a time. */
export function nextText(at: string | null, now: number): string {
  const left = secondsUntil(at, now);
  if (left === null) return '–';
  if (left === 0) return t('webhooks.nextNow');
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  const clock = hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`;
  return t('webhooks.nextIn', { clock });
}
