import { useEffect, useState } from 'preact/hooks';
import {
  explainSignature,
  type SignatureExplanation,
  type SignatureHint,
} from '../../../../sdk/src/webhooks.ts';
import { type TextKey, t } from '../../text/text.ts';
import { Badge } from '../../ui/chips.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { TextArea, TextField } from '../../ui/field.tsx';

const RESULTS: Readonly<Record<SignatureExplanation['result'], TextKey>> = {
  genuine: 'calculator.genuine',
  malformed_header: 'calculator.malformedHeader',
  malformed_secret: 'calculator.malformedSecret',
  no_match: 'calculator.noMatch',
  outside_tolerance: 'calculator.outside',
};

const HINTS: Readonly<Record<SignatureHint, TextKey>> = {
  body_rewritten: 'calculator.bodyRewritten',
  body_line_end: 'calculator.bodyLineEnd',
  secret_decoded: 'calculator.secretDecoded',
  time_missing: 'calculator.timeMissing',
};

/** Checks a signature in the page. Nothing of it is sent or stored. */
export function SignatureCalculator() {
  const [header, setHeader] = useState('');
  const [body, setBody] = useState('');
  const [secret, setSecret] = useState('');
  const [computed, setComputed] = useState('');
  const [explained, setExplained] = useState<SignatureExplanation | null>(null);
  const isEmpty = header === '' && secret === '';
  useEffect(() => {
    let isCurrent = true;
    if (isEmpty) setExplained(null);
    else
      void explainSignature(body, header, secret.trim(), { computed }).then((result) => {
        if (isCurrent) setExplained(result);
      });
    return () => {
      isCurrent = false;
    };
  }, [header, body, secret, computed, isEmpty]);
  return (
    <>
      <p class="dim">{t('calculator.intro')}</p>
      <TextField
        label="X-Service-Signature"
        value={header}
        onInput={setHeader}
        isCode
        placeholder="t=…,v1=…"
      />
      <TextArea
        label={t('calculator.body')}
        help={t('calculator.bodyHelp')}
        value={body}
        onInput={setBody}
        isCode
      />
      <TextField
        label={t('calculator.secret')}
        help={t('calculator.secretHelp')}
        type="password"
        value={secret}
        onInput={setSecret}
        isCode
      />
      <TextField
        label={t('calculator.computed')}
        help={t('calculator.computedHelp')}
        value={computed}
        onInput={setComputed}
        isCode
      />
      {explained === null ? null : (
        <Explained explained={explained} computed={computed.trim().toLowerCase()} />
      )}
    </>
  );
}

function Explained({ explained, computed }: { explained: SignatureExplanation; computed: string }) {
  const { result, ageSeconds, signedText, expected, given, hints } = explained;
  return (
    <section class="stack" aria-label={t('calculator.result')}>
      <p role="status">
        <Badge
          text={t(result === 'genuine' ? 'calculator.good' : 'calculator.bad')}
          tone={result === 'genuine' ? 'good' : 'bad'}
        />{' '}
        {t(RESULTS[result])}
      </p>
      {ageSeconds === null ? null : <p>{t('calculator.age', { seconds: ageSeconds })}</p>}
      {hints.map((hint) => (
        <p key={hint} class="note warn">
          {t(HINTS[hint])}
        </p>
      ))}
      {result === 'no_match' && hints.length === 0 ? <p class="note">{t('calculator.otherSecret')}</p> : null}
      {expected === null ? null : (
        <dl class="compare">
          <Compared label={t('calculator.expected')} value={expected} with={expected} />
          {given.map((one) => (
            <Compared key={one} label={t('calculator.given')} value={one} with={expected} />
          ))}
          {computed === '' ? null : (
            <Compared label={t('calculator.computed')} value={computed} with={expected} />
          )}
        </dl>
      )}
      {signedText === null ? null : (
        <CodeBlock code={signedText} label={t('calculator.signed')} language="text" />
      )}
    </section>
  );
}

/** A signature, with the letters marked that another one has different. */
function Compared({ label, value, with: other }: { label: string; value: string; with: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class="code">
        {Array.from(value, (letter, at) => (letter === other[at] ? letter : <mark key={at}>{letter}</mark>))}
      </dd>
    </div>
  );
}
