import { useState } from 'preact/hooks';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { MethodBadge } from './api-index.tsx';
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
import { firstValues, jsonText, plannedRequest } from './request.ts';
import { Marked, RichText } from './rich-text.tsx';
import { snippetsOf } from './snippets.ts';
import { TryIt } from './try-it.tsx';

export interface OperationArticleProps {
  readonly document: OpenApi;
  readonly operation: Operation;
  /** Name of its resource. */
  readonly group: string;
  /** Keys of answers that are described at the beginning, for all operations. */
  readonly common: ReadonlySet<string>;
}

/** One operation: what it takes and answers, how it is called, and a form that sends it. */
export function OperationArticle({ document, operation, group, common }: OperationArticleProps) {
  const { id, method, path, summary, description, parameters, body, answers } = operation;
  const [isOpen, setOpen] = useState(false);
  const shared = answers.filter((answer) => common.has(commonKey(answer)));
  return (
    <article id={id} class="api-operation" aria-labelledby={`${id}-title`}>
      <header class="api-head">
        <p class="dim">{group}</p>
        <h2 id={`${id}-title`} tabIndex={-1}>
          {summary}
        </h2>
        <p class="code api-path">
          <MethodBadge method={method} isWhole /> /api/v1{path}
        </p>
      </header>
      <div class="api-text">
        <RichText text={description} />
        <p class="dim">{credentialText(operation)}</p>
        <div class="actions">
          <Button
            {...(isOpen ? {} : { tone: 'primary' as const })}
            onClick={() => setOpen(!isOpen)}
            isPressed={isOpen}
            label={t('api.tryOf', { operation: id })}
          >
            {t('api.try')}
          </Button>
        </div>
        {isOpen ? <TryIt operation={operation} /> : null}
      </div>
      <Samples operation={operation} />
      <div class="api-text api-details">
        {parameters.length === 0 ? null : <h3>{t('api.parameters')}</h3>}
        <FieldTable
          label={t('api.parametersOf', { operation: id })}
          fields={parameters.map((one) => parameterField(document, one))}
        />
        {body === null ? null : (
          <>
            <h3>{t('api.body')}</h3>
            {body.description === '' ? null : <p>{body.description}</p>}
            <ContentFields document={document} content={body} label={t('api.bodyOf', { operation: id })} />
          </>
        )}
        <h3>{t('api.answers')}</h3>
        {answers
          .filter(({ status }) => status < '300')
          .map(({ status, description: meaning, content }) => (
            <div key={status} class="stack">
              <p>
                <strong>{status}</strong> <Marked text={meaning} />
              </p>
              {content === null ? null : (
                <ContentFields
                  document={document}
                  content={content}
                  label={t('api.answerOf', { operation: id })}
                  isAnswer
                />
              )}
            </div>
          ))}
        <ErrorList
          answers={answers.filter((answer) => answer.status >= '300' && !common.has(commonKey(answer)))}
        />
        {shared.length === 0 ? null : (
          <p>
            <a href="/api">{t('api.common')}</a> {shared.map(({ status }) => status).join(', ')}
          </p>
        )}
      </div>
    </article>
  );
}

/** The operation as code, with its example, and what it answers then. */
function Samples({ operation }: { readonly operation: Operation }) {
  const { id, answers, credentials } = operation;
  const [language, setLanguage] = useState('curl');
  const planned = plannedRequest(operation, firstValues(operation));
  const snippets = snippetsOf(planned, location.origin, credentials.length === 0);
  const code = snippets.find(({ name }) => name === language)?.code ?? '';
  return (
    <div class="api-samples">
      <Tabs
        label={t('api.codeOf', { operation: id })}
        tabs={snippets.map(({ name }) => ({ id: name, text: name }))}
        current={language}
        onChange={setLanguage}
      >
        <CodeBlock code={code} label={language} language={language === 'curl' ? 'shell' : 'text'} />
      </Tabs>
      {answers.map(({ status, content }) =>
        status >= '300' || content === null || content.example === undefined ? null : (
          <div key={status} class="stack">
            <p class="dim">
              {status} {content.type}
            </p>
            <CodeBlock
              code={typeof content.example === 'string' ? content.example : jsonText(content.example)}
              label={`${t('api.exampleOf', { operation: id })}, ${status}`}
              language={typeof content.example === 'string' ? 'text' : 'json'}
            />
          </div>
        ),
      )}
    </div>
  );
}

/** Statuses and their meaning. */
export function ErrorList({ answers }: { readonly answers: readonly OperationAnswer[] }) {
  if (answers.length === 0) return null;
  return (
    <ul class="api-errors">
      {answers.map(({ status, description }) => (
        <li key={status}>
          <strong>{status}</strong> <Marked text={description} />
        </li>
      ))}
    </ul>
  );
}

interface ContentFieldsProps {
  readonly document: OpenApi;
  readonly content: Content;
  readonly label: string;
  /** Members of an answer are there or are not: nobody is required to give them. */
  readonly isAnswer?: boolean;
}

function ContentFields({ document, content: { schema }, label, isAnswer = false }: ContentFieldsProps) {
  const fields = schema === null ? [] : fieldsOf(document, schema);
  return (
    <FieldTable
      label={label}
      fields={isAnswer ? fields.map((field) => ({ ...field, isRequired: false })) : fields}
    />
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
