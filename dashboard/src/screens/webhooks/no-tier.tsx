import { useUser } from '../../app/session.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';

/** To a user whose tier has no webhooks. On an own server the user is the operator. */
export function NoTier() {
  const { email } = useUser();
  return (
    <div class="note warn">
      <p>{t('webhooks.noTier')}</p>
      <CodeBlock code={`uqrp user tier '${email.replaceAll("'", "'\\''")}' pro`} label="uqrp" />
    </div>
  );
}
