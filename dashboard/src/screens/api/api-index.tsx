import { useEffect, useRef, useState } from 'preact/hooks';
import { navigate } from '../../app/router.ts';
import { t, tn } from '../../text/text.ts';
import { SearchBox } from '../../ui/search-box.tsx';
import { bestMatch, matchingGroups } from './find-operations.ts';
import type { Method, Operation, OperationGroup } from './openapi.ts';

/** The address of the screen of an operation. */
export function operationPath(id: string): string {
  return `/api?operation=${encodeURIComponent(id)}`;
}

export interface ApiIndexProps {
  readonly groups: readonly OperationGroup[];
  /** Id of the operation that is shown; null: none. */
  readonly current: string | null;
}

/** All operations by their resource, with a search. */
export function ApiIndex({ groups, current }: ApiIndexProps) {
  const [searched, setSearched] = useState('');
  const shown = matchingGroups(groups, searched);
  const found = shown.reduce((sum, { operations }) => sum + operations.length, 0);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  return (
    <nav class={`api-index ${searched === '' ? '' : 'open'}`} aria-label={t('api.contents')}>
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          // What was typed in the last milliseconds is not searched yet.
          const text = event.currentTarget.querySelector('input')?.value ?? '';
          const best = text.trim() === '' ? null : bestMatch(matchingGroups(groups, text), text);
          if (best !== null) navigate(operationPath(best.id));
        }}
      >
        <SearchBox value={searched} onSearch={setSearched} />
      </form>
      <p class={searched === '' ? 'hidden' : 'dim'} role="status">
        {searched === '' ? '' : tn('api.operations', found)}
      </p>
      {current === null ? null : (
        <a class="api-back" href="/api">
          {t('api.all')}
        </a>
      )}
      <div class="api-groups" ref={list}>
        {shown.map(({ name, operations }) => (
          <section key={name} aria-label={name}>
            <h2>{name}</h2>
            <OperationList operations={operations} current={current} />
          </section>
        ))}
      </div>
    </nav>
  );
}

export interface OperationListProps {
  readonly operations: readonly Operation[];
  /** Id of the operation that is shown; null: none. */
  readonly current: string | null;
}

/** Links to operations. */
export function OperationList({ operations, current }: OperationListProps) {
  return (
    <ul class="api-list">
      {operations.map(({ id, method, summary }) => (
        <li key={id}>
          <a href={operationPath(id)} aria-current={id === current ? 'page' : undefined}>
            <MethodBadge method={method} />
            <span>{summary}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const SHORT: Readonly<Record<Method, string>> = { GET: 'GET', POST: 'POST', PATCH: 'PATCH', DELETE: 'DEL' };

/** The method in its colour. */
export function MethodBadge({
  method,
  isWhole = false,
}: {
  readonly method: Method;
  readonly isWhole?: boolean;
}) {
  return <span class={`api-method ${method.toLowerCase()}`}>{isWhole ? method : SHORT[method]}</span>;
}
