import type { MintedQueryToken, NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useMeta } from '../../app/meta.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { SecretDialog } from '../../ui/secret-dialog.tsx';
import { digOverHttps, plainDig, queryName } from './token-command.ts';

export interface MintedDialogProps {
  readonly namespace: NamespaceResource;
  readonly minted: MintedQueryToken;
  readonly onStored: () => void;
}

/** The token, once, with the name that reads one of the namespace's records. */
export function MintedDialog({ namespace, minted, onStored }: MintedDialogProps) {
  const { value: meta } = useMeta();
  const { name } = namespace;
  const first = useResource(`first-record ${namespace.id}`, async (signal) => {
    const { items } = await api.records.list({ namespace: name }, { limit: 1, signal }).page();
    return items[0]?.key ?? null;
  });
  const key = first.value ?? `greeting.${name}.v1`;
  const zone = meta?.zones[0];
  const whole = zone === undefined ? null : queryName(key, minted.token, zone);
  const https = meta === undefined || whole === null ? null : digOverHttps(whole, meta);
  const plain = meta === undefined || whole === null ? null : plainDig(whole, meta);
  return (
    <SecretDialog title={t('tokens.secret')} secret={minted.token} onStored={onStored}>
      {whole === null ? null : (
        <>
          <p>{t(first.value === null ? 'tokens.wholeSample' : 'tokens.whole', { key })}</p>
          <CodeBlock code={whole} label={t('tokens.wholeLabel')} language="text" />
        </>
      )}
      {https === null ? null : (
        <>
          <p>{t('tokens.https')}</p>
          <CodeBlock code={https} label="dig +https" />
        </>
      )}
      {plain === null ? null : (
        <>
          <p class="note warn">{t('tokens.plain')}</p>
          <CodeBlock code={plain} label="dig" />
        </>
      )}
    </SecretDialog>
  );
}
