import { useEffect, useState } from 'preact/hooks';
import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { useMeta } from '../../app/meta.ts';
import { milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';

export interface RefusalWatchProps {
  readonly namespace: NamespaceResource;
  readonly name: string;
  /** Null: this page does not know it, so it cannot ask with it. */
  readonly token: string | null;
  /** When the revocation left, by performance.now(). */
  readonly at: number;
}

type Seen =
  | { readonly state: 'asking' | 'late' | 'failed' }
  | { readonly state: 'refused'; readonly ms: number };

const STEP_MS = 50;
const GIVE_UP_MS = 30_000;

/** After a revocation: asks with the token until the answer is REFUSED. */
export function RefusalWatch({ namespace, name, token, at }: RefusalWatchProps) {
  const { value: meta } = useMeta();
  const [seen, setSeen] = useState<Seen>({ state: 'asking' });
  const isOpen = namespace.public_read === true;
  const zone = meta?.zones[0];
  useEffect(() => {
    if (meta === undefined || token === null || isOpen) return;
    const ending = new AbortController();
    const watch = async (): Promise<void> => {
      const { askDns, pageReader } = await import('../records/ask-dns.ts');
      const reader = pageReader(meta);
      for (;;) {
        const answer = await askDns(reader, `revoked.${namespace.name}.v1`, token, ending.signal);
        const ms = performance.now() - at;
        if (answer.kind === 'refused') return setSeen({ state: 'refused', ms });
        if (answer.kind === 'failed') return setSeen({ state: 'failed' });
        if (ms > GIVE_UP_MS) return setSeen({ state: 'late' });
        await new Promise((resolve) => setTimeout(resolve, STEP_MS));
      }
    };
    watch().catch(() => undefined);
    return () => ending.abort();
  }, [zone, token, isOpen]);
  const text =
    token === null || isOpen
      ? t(isOpen ? 'tokens.revokedOpen' : 'tokens.revokedUnknown', { name })
      : seen.state === 'refused'
        ? t('tokens.refusedAfter', { name, ms: milliseconds(seen.ms) })
        : t(
            `tokens.${seen.state === 'asking' ? 'refusalAsked' : seen.state === 'late' ? 'refusalLate' : 'refusalFailed'}`,
            { name },
          );
  return (
    <p class="note" role="status">
      {text}
    </p>
  );
}
