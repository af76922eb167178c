import { useUser } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';

/** Addresses of the machine that the server runs on: who opens the page there can give the command. */
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

/** To a user whose tier has no webhooks. Only an operator is shown the command that changes it. */
export function NoTier() {
  const { email, role, organization } = useUser();
  const quoted = email.replaceAll("'", "'\\''");
  const isOperator = role === 'admin' || LOOPBACK.has(location.hostname);
  return (
    <div class="note warn">
      <p>{t('webhooks.noTier')}</p>
      {isOperator ? (
        <>
          <p>{t('webhooks.noTierOperator')}</p>
          <CodeBlock
            code={
              organization === undefined
                ? `uqrp user tier '${quoted}' pro`
                : `uqrp organization tier ${organization.id} pro`
            }
            label="uqrp"
          />
        </>
      ) : (
        <p>{t('webhooks.noTierAsk')}</p>
      )}
    </div>
  );
}
