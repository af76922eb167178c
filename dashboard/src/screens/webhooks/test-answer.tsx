import type { DeliveryResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { errorWords } from './error-words.ts';
import { hostOf } from './webhook-state.ts';

/** How the endpoint answered a test, as soon as it did. */
export function TestAnswer(props: {
  readonly delivery: DeliveryResource | null;
  readonly isWaiting: boolean;
  /** Of the endpoint. */
  readonly url: string;
}) {
  const { delivery, isWaiting } = props;
  const words =
    delivery === null ? null : errorWords(delivery.error, delivery.response_code, hostOf(props.url));
  return (
    <div role="status">
      {isWaiting ? <p class="note">{t('webhooks.testWaiting')}</p> : null}
      {delivery?.status === 'succeeded' ? (
        <p class="note">
          {t('webhooks.testAnswered', {
            code: delivery.response_code ?? '',
            time: milliseconds(delivery.duration_ms ?? 0),
          })}
        </p>
      ) : null}
      {words === null ? null : (
        <div class="note bad">
          <p>{t('webhooks.testFailed', { what: words.what })}</p>
          <p>{words.repair}</p>
        </div>
      )}
    </div>
  );
}
