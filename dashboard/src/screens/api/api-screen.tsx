import { useEffect, useMemo } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { useResource } from '../../data/resource.ts';
import { t } from '../../text/text.ts';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Loading } from '../../ui/loading.tsx';
import { Page } from '../../ui/page.tsx';
import { commonAnswers, commonKey, type OpenApi, operationGroups } from './openapi.ts';
import { COMMON_ANSWERS, ErrorList, OperationArticle } from './operation-article.tsx';
import { RichText } from './rich-text.tsx';

/** Milliseconds: the document changes with the program only. */
const FRESH_MS = 3_600_000;

/** The reference of the API as one document: the search of the browser finds everything in it. */
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
        <a class="button" href="/api/v1/openapi.json" download="openapi.json">
          {t('api.download')}
        </a>
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
  const answers = useMemo(() => commonAnswers(groups.flatMap(({ operations }) => operations)), [groups]);
  const common = useMemo(() => new Set(answers.map(commonKey)), [answers]);
  useEffect(() => {
    showAnchor();
    globalThis.addEventListener('hashchange', showAnchor);
    return () => globalThis.removeEventListener('hashchange', showAnchor);
  }, []);
  return (
    <div class="api stack">
      <RichText text={described.info.description} />
      <nav aria-label={t('api.contents')}>
        <ul class="actions">
          {groups.map(({ name }) => (
            <li key={name}>
              <a class="button" href={`#${anchorOf(name)}`}>
                {name}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <section class="stack" aria-labelledby={COMMON_ANSWERS}>
        <h2 id={COMMON_ANSWERS} tabIndex={-1}>
          {t('api.commonTitle')}
        </h2>
        <ErrorList answers={answers} />
      </section>
      {groups.map(({ name, description, operations }) => (
        <section key={name} class="stack" aria-labelledby={anchorOf(name)}>
          <h2 id={anchorOf(name)} tabIndex={-1}>
            {name}
          </h2>
          <p>{description}</p>
          <ul class="api-list">
            {operations.map(({ id, method, path, summary }) => (
              <li key={id}>
                <a href={`#${id}`}>{summary}</a>{' '}
                <span class="code dim">
                  {method} {path}
                </span>
              </li>
            ))}
          </ul>
          {operations.map((operation) => (
            <OperationArticle key={operation.id} document={described} operation={operation} common={common} />
          ))}
        </section>
      ))}
    </div>
  );
}

function anchorOf(tag: string): string {
  return `tag-${tag.toLowerCase().replaceAll(' ', '-')}`;
}

/** The browser looks for the anchor of the address before the document is there, and moves no focus to it. */
function showAnchor(): void {
  const target = document.getElementById(location.hash.slice(1));
  if (target === null) return;
  target.scrollIntoView();
  (target.querySelector<HTMLElement>('h3') ?? target).focus({ preventScroll: true });
}
