import { useEffect, useRef, useState } from 'preact/hooks';
import type { UserResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { startConditionalSignIn } from './conditional.ts';

export interface SignInFormProps {
  /** Of the session that has ended. */
  readonly address?: string;
  /** @param method how the session began */
  readonly onSignedIn: (user: UserResource, method: 'code' | 'passkey') => void;
}

/** Sign-in by a mailed code or a passkey. Also shown over a page whose session has ended. */
export function SignInForm({ address = '', onSignedIn }: SignInFormProps) {
  const [email, setEmail] = useState(address);
  const [code, setCode] = useState('');
  const [isMailed, setMailed] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const latest = useRef(onSignedIn);
  latest.current = onSignedIn;
  const conditional = useRef<AbortController | null>(null);
  // The browser offers passkeys in the field of the address. Another request for a passkey fails as long as this one runs.
  useEffect(() => {
    conditional.current = startConditionalSignIn((user) => latest.current(user, 'passkey'), setError);
    return () => conditional.current?.abort();
  }, []);
  const run = async (act: () => Promise<void>): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    setError(undefined);
    try {
      await act();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const send = (): Promise<void> =>
    run(async () => {
      await api.auth.signIn(email.trim());
      setCode('');
      setMailed(true);
    });
  const verify = (): Promise<void> =>
    run(async () => {
      const { user } = await api.auth.verify(email.trim(), code.replace(/\D/g, ''), { cookie: true });
      conditional.current?.abort();
      onSignedIn(user, 'code');
    });
  const withPasskey = (): Promise<void> =>
    run(async () => {
      conditional.current?.abort();
      const { user } = await api.auth.signInWithPasskey({ cookie: true });
      onSignedIn(user, 'passkey');
    });
  return (
    <>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void (isMailed ? verify() : send());
        }}
      >
        {isMailed ? (
          <>
            <p role="status">{t('signIn.mailed', { email: email.trim() })}</p>
            {isLocal() ? <p class="dim">{t('signIn.local')}</p> : null}
            <TextField
              label={t('signIn.code')}
              help={t('signIn.codeHelp')}
              value={code}
              onInput={setCode}
              inputMode="numeric"
              autocomplete="one-time-code"
              isRequired
              hasFocus
              isCode
            />
          </>
        ) : (
          <TextField
            label={t('signIn.email')}
            type="email"
            value={email}
            onInput={setEmail}
            autocomplete="username webauthn"
            isRequired
            hasFocus
          />
        )}
        {error === undefined ? null : <ErrorNote error={error} />}
        <Button type="submit" tone="primary" isBusy={isBusy}>
          {isMailed ? t('signIn.submit') : t('signIn.send')}
        </Button>
        {isMailed ? <Button onClick={() => setMailed(false)}>{t('signIn.back')}</Button> : null}
      </form>
      <p class="or dim">{t('signIn.or')}</p>
      <Button isBusy={isBusy} onClick={() => void withPasskey()}>
        {t('signIn.passkey')}
      </Button>
    </>
  );
}

function isLocal(): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(location.hostname);
}
