import type { NamespaceResource } from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t, tn } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Time } from '../../ui/time.tsx';
import { type Ending, endingSoon } from './ending.ts';

/** Namespaces whose tokens are looked at: one request each. */
const NAMESPACES_MAX = 20;
const FRESH_MS = 60_000;

async function endings(namespaces: readonly NamespaceResource[], signal: AbortSignal): Promise<Ending[]> {
  const keys = await api.apiKeys.list({ signal });
  const tokens = await Promise.all(
    namespaces.slice(0, NAMESPACES_MAX).map(async ({ id, name }) => {
      const all = await api.queryTokens.list(id, { signal });
      return all
        .filter((token) => token.revoked_at === null)
        .map((token) => ({
          kind: 'token' as const,
          name: `${token.name} (${name})`,
          at: token.expires_at,
          path: `/namespaces/${encodeURIComponent(name)}`,
        }));
    }),
  );
  const ended = keys.map((key) => ({
    kind: 'key' as const,
    name: key.name,
    at: key.expires_at,
    path: '/api-keys',
  }));
  return endingSoon([...ended, ...tokens.flat()], Date.now());
}

/** Webhooks that fail, and what ends within seven days. */
export function Attention({ namespaces }: { readonly namespaces: readonly NamespaceResource[] }) {
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }));
  const names = namespaces.map(({ id }) => id).join(' ');
  const ending = useResource(`ending ${names}`, (signal) => endings(namespaces, signal), {
    freshMs: FRESH_MS,
  });
  const failing = (webhooks.value ?? []).filter(
    ({ enabled, failure_count: failures }) => !enabled || failures > 0,
  );
  const failed = webhooks.state === 'failed' ? webhooks : ending.state === 'failed' ? ending : null;
  return (
    <section class="card stack" aria-labelledby="attention">
      <h2 id="attention">{t('overview.attention')}</h2>
      {failed === null ? null : <ErrorNote error={failed.error} again={failed.again} />}
      {failing.length === 0 && ending.value?.length === 0 ? (
        <p class="dim">{t('overview.nothingToDo')}</p>
      ) : null}
      <ul class="lines">
        {failing.map(({ id, name, enabled, failure_count: failures }) => (
          <li key={id}>
            <a href={`/webhooks/${encodeURIComponent(id)}`}>{name}</a>
            <Badge
              tone={enabled ? 'warn' : 'bad'}
              text={enabled ? tn('overview.failures', failures) : t('overview.disabled')}
            />
          </li>
        ))}
        {(ending.value ?? []).map(({ kind, name, at, path }) => (
          <li key={`${kind} ${name} ${at}`}>
            <span>
              {t(kind === 'token' ? 'overview.token' : 'overview.apiKey')} <a href={path}>{name}</a>
            </span>
            <span>
              {t('overview.ends')} <Time at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
