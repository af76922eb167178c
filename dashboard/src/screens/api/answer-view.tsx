import { ApiError } from '../../../../sdk/src/uqrp-sdk.ts';
import { milliseconds } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import type { Operation } from './openapi.ts';
import type { ShownAnswer } from './read-answer.ts';

export interface AnswerViewProps {
  readonly operation: Operation;
  readonly outcome:
    | { readonly kind: 'answer'; readonly answer: ShownAnswer }
    | { readonly kind: 'error'; readonly error: unknown };
}

/** What came back: status, time, headers and body, or the error and what the document says of its status. */
export function AnswerView({ operation, outcome }: AnswerViewProps) {
  const label = t('api.answerOf', { operation: operation.id });
  if (outcome.kind === 'error') {
    const { error } = outcome;
    const status = error instanceof ApiError ? String(error.status) : null;
    const meaning = operation.answers.find((answer) => answer.status === status)?.description;
    return (
      <section aria-label={label} class="stack">
        {status === null ? null : <p>{meaning === undefined ? status : `${status}: ${meaning}`}</p>}
        <ErrorNote error={error} />
      </section>
    );
  }
  const { status, ms, headers, body, state } = outcome.answer;
  return (
    <section aria-label={label} class="stack">
      <p role="status">
        <strong>{status}</strong> {t('api.after', { time: milliseconds(ms) })}
        {state === 'reading' ? ` ${t('api.reading')}` : ''}
        {state === 'cut' ? ` ${t('api.cut')}` : ''}
      </p>
      <ul class="code">
        {headers.map(([name, value]) => (
          <li key={name}>
            {name}: {value}
          </li>
        ))}
      </ul>
      {body === '' ? null : <CodeBlock code={body} label={label} language="json" />}
    </section>
  );
}
