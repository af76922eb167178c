import type { DeliveryError } from '../../../../sdk/src/uqrp-sdk.ts';
import { t } from '../../text/text.ts';

const WORDS = {
  timeout: ['webhooks.errorTimeout', 'webhooks.repairTimeout'],
  dns_failure: ['webhooks.errorDns', 'webhooks.repairDns'],
  connection_failed: ['webhooks.errorConnection', 'webhooks.repairConnection'],
  tls_error: ['webhooks.errorTls', 'webhooks.repairTls'],
  blocked_address: ['webhooks.errorAddress', 'webhooks.repairAddress'],
  http_status: ['webhooks.errorStatus', 'webhooks.repairStatus'],
  redirect: ['webhooks.errorRedirect', 'webhooks.repairRedirect'],
  payload_too_large: ['webhooks.errorLarge', 'webhooks.repairLarge'],
  rate_limited: ['webhooks.errorRate', 'webhooks.repairRate'],
  webhook_disabled: ['webhooks.errorDisabled', 'webhooks.repairDisabled'],
} as const satisfies Readonly<Record<DeliveryError, readonly [string, string]>>;

/**
 * Why a delivery has no success, and what the owner of the endpoint can do about it. Null: no error is known.
 * @param host of the endpoint
 */
export function errorWords(
  error: DeliveryError | null,
  code: number | null,
  host: string,
): { what: string; repair: string } | null {
  if (error === null) return null;
  // A server of a later version may know another error.
  const words = WORDS[error] as
    | readonly [(typeof WORDS)[DeliveryError][0], (typeof WORDS)[DeliveryError][1]]
    | undefined;
  if (words === undefined) return { what: error, repair: '' };
  return { what: t(words[0], { code: code ?? '', host }), repair: t(words[1], { host }) };
}
