import { useState } from 'preact/hooks';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { FieldTable } from './field-table.tsx';
import { type Field, fieldsOf, typeText } from './fields.ts';
import {
  type Content,
  commonKey,
  type OpenApi,
  type Operation,
  type OperationAnswer,
  type Parameter,
} from './openapi.ts';
import { jsonText } from './request.ts';
import { Marked, RichText } from './rich-text.tsx';
import { TryIt } from './try-it.tsx';

export interface OperationArticleProps {
  readonly document: OpenApi;
  readonly operation: Operation;
  /** Keys of answers that are shown once, for all operations. */
  readonly common: ReadonlySet<string>;
}

/** One operation: what it takes and answers, and a form that sends it. */
export function OperationArticle({ document, operation, common }: OperationArticleProps) {
  const { id, method, path, summary, description, parameters, body, answers } = operation;
  const [isOpen, setOpen] = useState(false);
  return (
    <article id={id} class="api-operation card" aria-labelledby={`${id}-title`}>
      <h3 id={`${id}-title`} tabIndex={-1}>
        <a href={`#${id}`}>{summary}</a>
      </h3>
      <p class="code">
        <strong class={`api-method ${method.toLowerCase()}`}>{method}</strong> /api/v1{path}
      </p>
      <RichText text={description} />
      <p class="dim">{credentialText(operation)}</p>
      <FieldTable
        label={t('api.parametersOf', { operation: id })}
        fields={parameters.map((one) => parameterField(document, one))}
      />
      {body === null ? null : (
        <>
          <h4>{t('api.body')}</h4>
          <p>{body.description}</p>
          <ContentParts document={document} content={body} label={t('api.bodyOf', { operation: id })} />
        </>
      )}
      <h4>{t('api.answers')}</h4>
      {answers
        .filter(({ status }) => status < '300')
        .map((answer) => (
          <div key={answer.status} class="stack">
            <p>
              <strong>{answer.status}</strong> <Marked text={answer.description} />
            </p>
            {answer.content === null ? null : (
              <ContentParts
                document={document}
                content={answer.content}
                label={t('api.answerOf', { operation: id })}
              />
            )}
          </div>
        ))}
      <ErrorList
        answers={answers.filter((answer) => answer.status >= '300' && !common.has(commonKey(answer)))}
      />
      <p>
        <a href={`#${COMMON_ANSWERS}`}>{t('api.common')}</a>{' '}
        {answers
          .filter((answer) => common.has(commonKey(answer)))
          .map(({ status }) => status)
          .join(', ')}
      </p>
      <div class="actions">
        <Button onClick={() => setOpen(!isOpen)} isPressed={isOpen} label={t('api.tryOf', { operation: id })}>
          {t('api.try')}
        </Button>
      </div>
      {isOpen ? <TryIt operation={operation} /> : null}
    </article>
  );
}

/** Id of the section of what many operations answer. */
export const COMMON_ANSWERS = 'common-answers';

/** Statuses and their meaning. */
export function ErrorList({ answers }: { readonly answers: readonly OperationAnswer[] }) {
  if (answers.length === 0) return null;
  return (
    <ul>
      {answers.map(({ status, description }) => (
        <li key={status}>
          <strong>{status}</strong> <Marked text={description} />
        </li>
      ))}
    </ul>
  );
}

interface ContentPartsProps {
  readonly document: OpenApi;
  readonly content: Content;
  readonly label: string;
}

function ContentParts({ document, content: { schema, example, type }, label }: ContentPartsProps) {
  return (
    <>
      <FieldTable label={label} fields={schema === null ? [] : fieldsOf(document, schema)} />
      {example === undefined ? null : (
        <CodeBlock
          code={typeof example === 'string' ? example : jsonText(example)}
          label={`${label}, ${type}`}
          language="text"
        />
      )}
    </>
  );
}

function parameterField(
  document: OpenApi,
  { name, in: place, required, description, schema }: Parameter,
): Field {
  return {
    name,
    type: `${place}, ${typeText(document, schema)}`,
    isRequired: required === true,
    description: description ?? '',
  };
}

function credentialText({ credentials }: Operation): string {
  if (credentials.length === 0) return t('api.forEveryone');
  return t(credentials.includes('apiKey') ? 'api.forKeys' : 'api.forUsers');
}
