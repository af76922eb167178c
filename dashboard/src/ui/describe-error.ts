/** An error in words for the user. */
import { ApiError, ConnectionError, TimeoutError } from '../../../sdk/src/uqrp-sdk.ts';
import { NoSuchPart } from '../data/use-part.ts';
import { t } from '../text/text.ts';

export interface ErrorDescription {
  readonly messages: readonly string[];
  /** `code` of the API. */
  readonly code: string | null;
  /** Seconds. */
  readonly retryAfter: number | null;
  /** For a report. */
  readonly details: string;
}

export function describeError(error: unknown): ErrorDescription {
  if (error instanceof ApiError) {
    const { messages, code, status, requestId, retryAfter } = error;
    const id = requestId === null ? '' : `, ${t('ui.errorRequest', { id: requestId })}`;
    return { messages, code, retryAfter, details: `${status} ${code}${id}: ${messages.join('; ')}` };
  }
  if (error instanceof ConnectionError || error instanceof TimeoutError)
    return plain(t('ui.noConnection'), error);
  if (error instanceof NoSuchPart) return plain(t('ui.otherVersion'), error);
  // The browser refused: the user cancelled a passkey, or the clipboard is not allowed.
  if (error instanceof DOMException) return plain(t('ui.notBrowser'), error);
  const message = error instanceof Error ? error.message : String(error);
  return plain(t('ui.unexpected', { message }), error);
}

function plain(message: string, error: unknown): ErrorDescription {
  const details = error instanceof Error ? `${error.name}: ${error.message}` : message;
  return { messages: [message], code: null, retryAfter: null, details };
}
