import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, ConnectionError } from '../../../sdk/src/uqrp-sdk.ts';
import { isOffline } from '../app/offline.ts';
import { session } from '../app/session.ts';
import { retryAt } from '../data/retry.ts';
import { NoSuchPart } from '../data/use-part.ts';
import { t } from '../text/text.ts';
import { Button } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { describeError } from './describe-error.ts';

export interface ErrorNoteProps {
  /** What was thrown. */
  readonly error: unknown;
  /** Shows a button `Try again`. Give `again` of a resource: it is then also said when the read is repeated by itself. */
  readonly again?: () => void;
}

/** What went wrong, as the API said it, with its code and when to try again. Role `alert`. */
export function ErrorNote({ error, again }: ErrorNoteProps) {
  const { messages, code, details, retryAfter } = describeError(error);
  const over = useOver(error);
  const left = useCountdown(error, again === undefined ? retryAfter : waitOf(error));
  if (over !== null && again === undefined) {
    return (
      <p role="status" class="note">
        {over}
      </p>
    );
  }
  return (
    <div role="alert" class="note bad">
      {messages.length === 1 ? (
        <p>{messages[0]}</p>
      ) : (
        <ul>
          {messages.map((message) => (
            <li key={message}>{message}</li>
          ))}
        </ul>
      )}
      <p class="note-meta">
        {code === null ? null : <span>{t('ui.errorCode', { code })} </span>}
        {left > 0 ? (
          <span aria-hidden="true">
            {t(again === undefined ? 'ui.retryLater' : 'ui.retryIn', { seconds: left })}
          </span>
        ) : null}
      </p>
      <div class="actions">
        {again === undefined ? null : (
          <Button onClick={again}>{t(error instanceof NoSuchPart ? 'ui.reload' : 'ui.tryAgain')}</Button>
        )}
        <CopyButton text={details} label={t('ui.copyDetails')} />
      </div>
    </div>
  );
}

/** What was wrong is over: somebody has signed in again, or the server is back. Null: it is not, or nobody knows. */
function useOver(error: unknown): string | null {
  const wasOffline = useRef<unknown>(undefined);
  const isOut = isOffline.value;
  if (isOut) wasOffline.current = error;
  if (error instanceof ApiError && error.status === 401)
    return session.value.phase === 'in' ? t('ui.signedInAgain') : null;
  return error instanceof ConnectionError && wasOffline.current === error && !isOut
    ? t('ui.reachedAgain')
    : null;
}

function waitOf(error: unknown): number | null {
  const { waitMs } = retryAt(error, 1);
  return waitMs !== null && waitMs > 1000 ? waitMs / 1000 : null;
}

/** Whole seconds that are left, counted down. */
function useCountdown(error: unknown, seconds: number | null): number {
  const [left, setLeft] = useState(0);
  useEffect(() => {
    const until = Date.now() + (seconds ?? 0) * 1000;
    const show = (): void => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000)));
    show();
    if (seconds === null) return;
    const timer = setInterval(show, 1000);
    return () => clearInterval(timer);
  }, [error, seconds]);
  return left;
}
