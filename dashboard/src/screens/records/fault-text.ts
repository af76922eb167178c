import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import type { FaultReason, RecordLimits } from './record-rules.ts';

/** What is wrong, in words. */
export function faultText(reason: FaultReason, limits: RecordLimits): string {
  return t(`recordFaults.${reason}`, {
    key: count(limits.key),
    data: count(limits.data),
    type: count(limits.contentType),
    ttl: count(limits.ttl),
  });
}
