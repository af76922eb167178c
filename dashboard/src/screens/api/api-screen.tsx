import { useEffect, useMemo, useRef } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { navigate, place } from '../../app/router.ts';
import { useResource } from '../../data/resource.ts';
import { t, tn } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { ApiIndex, OperationList, operationPath } from './api-index.tsx';
import {
  commonAnswers,
  commonKey,
  type OpenApi,
  type Operation,
  type OperationAnswer,
  type OperationGroup,
  operationGroups,
} from './openapi.ts';
import { ErrorList, OperationArticle } from './operation-article.tsx';
import { firstValues, plannedRequest } from './request.ts';
import { RichText } from './rich-text.tsx';
import { snippetsOf } from './snippets.ts';

/** Milliseconds: the document changes with the program only. */
const FRESH_MS = 3_600_000;

/** The reference of the API: an index of all operations, and one of them. */
export function ApiScreen() {
  const read = useResource(
    'openapi',
    async (signal) => (await api.request<OpenApi>({ method: 'GET', path: '/openapi.json', signal })).body,
    { freshMs: FRESH_MS },
  );
  return (
    <Page
      title={t('nav.api')}
      actions={
        <>
          <a class="button" href="/docs/api">
            {t('api.guide')}
          </a>
          <a class="button" href="/api/v1/openapi.json" download="openapi.json">
            {t('api.download')}
          </a>
        </>
      }
    >
      {read.state === 'loading' ? <Loading /> : null}
      {read.state === 'failed' ? <ErrorNote error={read.error} again={read.again} /> : null}
      {read.state === 'ready' ? <Reference document={read.value} /> : null}
    </Page>
  );
}

function Reference({ document: described }: { readonly document: OpenApi }) {
  const groups = useMemo(() => operationGroups(described), [described]);
  const operations = useMemo(() => groups.flatMap((group) => group.operations), [groups]);
  const answers = useMemo(() => commonAnswers(operations), [operations]);
  const common = useMemo(() => new Set(answers.map(commonKey)), [answers]);
  const wanted = place.value.query.get('operation');
  const operation = operations.find(({ id }) => id === wanted) ?? null;
  useFollowedAnchors(operations);
  const content = useRef<HTMLDivElement>(null);
  const shown = useRef(wanted);
  useEffect(() => {
    document.title = t('ui.page', {
      page: operation === null ? t('nav.api') : `${operation.summary} · ${t('nav.api')}`,
    });
    if (shown.current === wanted) return;
    shown.current = wanted;
    // The path is the same, so that the shell neither scrolls nor moves the focus.
    globalThis.scrollTo({ top: 0 });
    content.current?.querySelector<HTMLElement>('h2')?.focus({ preventScroll: true });
  }, [wanted, operation]);
  return (
    <div class="api">
      <ApiIndex groups={groups} current={operation?.id ?? null} />
      <div class="api-content" ref={content}>
        {operation === null ? (
          <>
            {wanted === null ? null : <p class="note warn">{t('api.unknown', { operation: wanted })}</p>}
            <ApiStart document={described} groups={groups} operations={operations} answers={answers} />
          </>
        ) : (
          <>
            <OperationArticle
              key={operation.id}
              document={described}
              operation={operation}
              group={groups.find((group) => group.operations.includes(operation))?.name ?? ''}
              common={common}
            />
            <Neighbours operations={operations} operation={operation} />
          </>
        )}
      </div>
    </div>
  );
}

/** `/api#createRecord` is an address of before, which documents and people have. */
function useFollowedAnchors(operations: readonly Operation[]): void {
  useEffect(() => {
    const follow = (): void => {
      const id = location.hash.slice(1);
      if (operations.some((one) => one.id === id)) navigate(operationPath(id), { replace: true });
    };
    follow();
    globalThis.addEventListener('hashchange', follow);
    return () => globalThis.removeEventListener('hashchange', follow);
  }, [operations]);
}

interface ApiStartProps {
  readonly document: OpenApi;
  readonly groups: readonly OperationGroup[];
  readonly operations: readonly Operation[];
  readonly answers: readonly OperationAnswer[];
}

/** What holds for all operations. */
function ApiStart({ document: { info }, groups, operations, answers }: ApiStartProps) {
  // The first line says what it is, the others what holds everywhere.
  const [about = '', ...rules] = info.description.split('\n').filter((line) => line !== '');
  return (
    <div class="api-start stack">
      <RichText text={about} />
      <QuickStart operations={operations} />
      <section class="stack" aria-labelledby="resources">
        <h2 id="resources" tabIndex={-1}>
          {t('api.resources')}
        </h2>
        <ul class="api-cards">
          {groups.map((group) => (
            <li key={group.name} class="card">
              <details>
                <summary>
                  <strong>{group.name}</strong>{' '}
                  <span class="dim">{tn('api.operations', group.operations.length)}</span>
                  <p>{group.description}</p>
                </summary>
                <OperationList operations={group.operations} current={null} />
              </details>
            </li>
          ))}
        </ul>
      </section>
      <section class="stack" aria-labelledby="api-rules">
        <h2 id="api-rules">{t('api.rules')}</h2>
        <RichText text={rules.join('\n')} />
      </section>
      <section class="stack" aria-labelledby="common-answers">
        <h2 id="common-answers">{t('api.commonTitle')}</h2>
        <ErrorList answers={answers} />
      </section>
    </div>
  );
}

/** A key, a write and a read, as commands that work as they are. */
function QuickStart({ operations }: Pick<ApiStartProps, 'operations'>) {
  const command = (id: string, parameters: Readonly<Record<string, string>> = {}): string => {
    const operation = operations.find((one) => one.id === id);
    if (operation === undefined) return '';
    const planned = plannedRequest(operation, { ...firstValues(operation), parameters });
    return snippetsOf(planned, location.origin, false)[0]?.code ?? '';
  };
  return (
    <section class="stack" aria-labelledby="quick-start">
      <h2 id="quick-start">{t('api.quick')}</h2>
      <p>
        {t('api.quickKey')} <a href="/api-keys">{t('nav.apiKeys')}</a>
      </p>
      <CodeBlock code={"export UQRP_TOKEN='…'"} label={t('nav.apiKeys')} />
      <p>{t('api.quickWrite')}</p>
      <CodeBlock
        code={`${command('createNamespace')}\n${command('createRecord')}`}
        label={t('api.quickWrite')}
      />
      <p>{t('api.quickRead')}</p>
      <CodeBlock code={command('listRecords', { key: 'greeting.acme.v1' })} label={t('api.quickRead')} />
    </section>
  );
}

/** The operations before and after this one. */
function Neighbours({
  operations,
  operation,
}: {
  readonly operations: readonly Operation[];
  readonly operation: Operation;
}) {
  const at = operations.indexOf(operation);
  const [before, after] = [operations[at - 1], operations[at + 1]];
  return (
    <nav class="api-neighbours" aria-label={t('api.neighbours')}>
      {before === undefined ? <span /> : <a href={operationPath(before.id)}>← {before.summary}</a>}
      {after === undefined ? null : <a href={operationPath(after.id)}>{after.summary} →</a>}
    </nav>
  );
}
