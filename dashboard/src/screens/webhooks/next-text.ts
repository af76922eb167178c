import type { DeliveryResource } from '../../../../sdk/src/uqrp-sdk.ts';
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

export type Step = 'done' | 'failed' | 'next' | 'later' | 'never';

/** What became of attempt `number`, from 1. */
export function stepOf({ status, attempts }: DeliveryResource, number: number): Step {
  if (number < attempts) return 'failed';
  if (number === attempts) return status === 'succeeded' ? 'done' : 'failed';
  if (status !== 'pending') return 'never';
  return number === attempts + 1 ? 'next' : 'later';
}

/** 5 s, 30 min, 2 h: how long after the attempt before. */
export function delayText(seconds: number): string {
  if (seconds === 0) return t('webhooks.atOnce');
  const [amount, unit] =
    seconds % 3600 === 0
      ? [seconds / 3600, 'h']
      : seconds % 60 === 0
        ? [seconds / 60, 'min']
        : [seconds, 's'];
  return t('webhooks.after', { delay: `${amount} ${unit}` });
}
