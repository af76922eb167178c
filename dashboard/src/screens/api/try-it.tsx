import { useEffect, useRef, useState } from 'preact/hooks';
import { api } from '../../app/client.ts';
import { session } from '../../app/session.ts';
import { refetchAll, useResource } from '../../data/resource.ts';
import { count } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { CopyAs } from '../../ui/copy-as.tsx';
import { Select, TextArea, TextField } from '../../ui/field.tsx';
import { AnswerView } from './answer-view.tsx';
import { operationPath } from './api-index.tsx';
import type { Operation, Parameter } from './openapi.ts';
import { readAnswer, type ShownAnswer } from './read-answer.ts';
import { faultsOf, firstValues, isWrite, plannedRequest, requestParts } from './request.ts';
import { snippetsOf } from './snippets.ts';

type Outcome =
  | { readonly kind: 'answer'; readonly answer: ShownAnswer }
  | { readonly kind: 'error'; readonly error: unknown };

/** The form of an operation. It sends with the session of the page; what changes something is asked about first. */
export function TryIt({ operation }: { readonly operation: Operation }) {
  const [values, setValues] = useState(() => firstValues(operation));
  const [isChecked, setChecked] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const sending = useRef<AbortController | null>(null);
  const [isSending, setSending] = useState(false);
  useEffect(() => () => sending.current?.abort(), []);
  // A visitor may read everything, and send what needs no credential.
  const needsSession = session.value.phase === 'out' && operation.credentials.length > 0;
  const faults = isChecked ? faultsOf(operation, values) : null;

  const send = async (): Promise<void> => {
    if (sending.current !== null) return;
    const ending = new AbortController();
    sending.current = ending;
    setSending(true);
    setOutcome(null);
    const began = performance.now();
    try {
      const parts = requestParts(operation, plannedRequest(operation, values));
      const response = await api.open({ ...parts, signal: ending.signal });
      const ms = performance.now() - began;
      // A write changes what other screens have read.
      if (isWrite(operation)) refetchAll();
      await readAnswer(response, ms, (answer) => {
        if (!ending.signal.aborted) setOutcome({ kind: 'answer', answer });
      });
    } catch (error) {
      if (!ending.signal.aborted) setOutcome({ kind: 'error', error });
    } finally {
      sending.current = null;
      setSending(false);
    }
  };
  const submit = (): void => {
    if (needsSession) return;
    setChecked(true);
    if (faultsOf(operation, values) !== null) return;
    if (isWrite(operation)) setAsking(true);
    else void send();
  };
  const setParameter = (name: string, value: string): void =>
    setValues({ ...values, parameters: { ...values.parameters, [name]: value } });

  return (
    <form
      class="api-form card stack"
      aria-label={t('api.tryOf', { operation: operation.id })}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {operation.parameters.map((parameter) => (
        <ParameterField
          key={parameter.name}
          parameter={parameter}
          value={values.parameters[parameter.name] ?? ''}
          isMissing={faults?.missing.includes(parameter.name) === true}
          onInput={(value) => setParameter(parameter.name, value)}
        />
      ))}
      {operation.body === null ? null : (
        <TextArea
          label={t('api.body')}
          value={values.body}
          onInput={(body) => setValues({ ...values, body })}
          error={faults?.body}
          rows={Math.min(16, values.body.split('\n').length + 1)}
          isCode
        />
      )}
      <div class="actions">
        {needsSession ? (
          <a class="button primary" href={`/sign-in?next=${encodeURIComponent(operationPath(operation.id))}`}>
            {t('api.signIn')}
          </a>
        ) : (
          <Button type="submit" tone="primary" isBusy={isSending}>
            {t('api.send')}
          </Button>
        )}
        {isSending ? <Button onClick={() => sending.current?.abort()}>{t('api.stop')}</Button> : null}
        <CopyAs
          variants={snippetsOf(
            plannedRequest(operation, values),
            location.origin,
            operation.credentials.length === 0,
          )}
        />
      </div>
      {outcome === null ? null : <AnswerView outcome={outcome} operation={operation} />}
      {isAsking ? <AskFirst operation={operation} onSend={send} onClose={() => setAsking(false)} /> : null}
    </form>
  );
}

interface ParameterFieldProps {
  readonly parameter: Parameter;
  readonly value: string;
  readonly isMissing: boolean;
  readonly onInput: (value: string) => void;
}

function ParameterField({
  parameter: { name, schema, required },
  value,
  isMissing,
  onInput,
}: ParameterFieldProps) {
  const error = isMissing ? t('api.missing') : null;
  if (schema.enum === undefined) {
    return (
      <TextField
        label={name}
        value={value}
        onInput={onInput}
        error={error}
        isRequired={required === true}
        isCode
      />
    );
  }
  const options = ['', ...schema.enum.map(String)].map((one) => ({
    value: one,
    text: one === '' ? '-' : one,
  }));
  return <Select label={name} value={value} options={options} onChange={onInput} error={error} />;
}

interface AskFirstProps {
  readonly operation: Operation;
  readonly onSend: () => Promise<void>;
  readonly onClose: () => void;
}

/** Before a write: that it is real, and how much of the account's budget of writes is used. */
function AskFirst({ operation: { method, path, summary }, onSend, onClose }: AskFirstProps) {
  const { value: usage } = useResource('usage', (signal) => api.usage({ signal }));
  const writes = usage?.writes ?? null;
  return (
    <ConfirmDialog
      title={`${method} ${path}`}
      confirm={t('api.send')}
      tone={method === 'DELETE' ? 'danger' : 'primary'}
      onConfirm={onSend}
      onClose={onClose}
    >
      <p>{t('api.isReal', { summary })}</p>
      {writes === null ? null : (
        <p>
          {t('api.budget', {
            minute: count(writes.minute.used),
            minuteLimit: count(writes.minute.limit),
            hour: count(writes.hour.used),
            hourLimit: count(writes.hour.limit),
          })}
        </p>
      )}
    </ConfirmDialog>
  );
}
