import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t, tn } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Time } from '../../ui/time.tsx';
import { errorWords } from '../webhooks/error-words.ts';
import { hostOf } from '../webhooks/webhook-state.ts';
import { type Ending, endingSoon, SOON_MS } from './ending.ts';

const FRESH_MS = 60_000;
/** Lines of tokens at most; the soonest come first. */
const TOKENS_MAX = 20;

async function endings(signal: AbortSignal): Promise<Ending[]> {
  const [keys, tokens] = await Promise.all([
    api.apiKeys.list({ signal }),
    api.queryTokens.ending(
      { expiring_before: new Date(Date.now() + SOON_MS), limit: TOKENS_MAX },
      { signal },
    ),
  ]);
  const ofKeys = keys.map((key) => ({
    kind: 'key' as const,
    name: key.name,
    at: key.expires_at,
    path: '/api-keys',
  }));
  const ofTokens = tokens.map(({ name, namespace, expires_at: at }) => ({
    kind: 'token' as const,
    name: `${name} (${namespace})`,
    at,
    path: `/namespaces/${encodeURIComponent(namespace)}?tab=tokens`,
  }));
  return endingSoon([...ofKeys, ...ofTokens], Date.now());
}

/** Webhooks that fail, and what ends within seven days. */
export function Attention() {
  const webhooks = useResource('webhooks', (signal) => api.webhooks.list({ signal }));
  const ending = useResource('ending', endings, { freshMs: FRESH_MS });
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
        {failing.map(({ id, name, url, enabled, failure_count: failures, health }) => (
          <li key={id}>
            <span>
              <a href={`/webhooks/${encodeURIComponent(id)}`}>{name}</a>{' '}
              <span class="dim">
                {health.disabled_by === 'request'
                  ? ''
                  : (errorWords(health.last_error, health.last_response_code, hostOf(url))?.what ?? '')}
              </span>
            </span>
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
