import { useId, useState } from 'preact/hooks';
import { textFields } from '../../../../sdk/src/dns.ts';
import { useResource } from '../../data/resource.ts';
import { date } from '../../format/format.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { TextField } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { askTexts } from './ask-texts.ts';
import { dateOfDay, dayOf, identityName } from './identity-name.ts';

const FIRST_DAY = dayOf('1990-01-01');

export interface IdentityProps {
  readonly slug: string;
  readonly zone: string;
  readonly hasDates: boolean;
}

/** What held of an item at a date. A slider chooses the date. */
export function Identity({ slug, zone, hasDates }: IdentityProps) {
  const today = Math.floor(Date.now() / 86_400_000);
  const id = useId();
  const [typed, setTyped] = useState('');
  const [item, setItem] = useState('');
  const [day, setDay] = useState(today);
  const name = identityName({ slug, item, zone, day: day === today ? null : day });
  return (
    <form
      class="stack card"
      aria-label={t('datasets.identity')}
      onSubmit={(event) => {
        event.preventDefault();
        setItem(typed.trim().toLowerCase());
      }}
    >
      <TextField label={t('datasets.item')} value={typed} onInput={setTyped} isCode isRequired />
      {hasDates ? (
        <div class="field">
          <label for={id}>
            {t('datasets.asOf', { date: day === today ? t('datasets.now') : date(dateOfDay(day)) })}
          </label>
          <input
            id={id}
            type="range"
            min={FIRST_DAY}
            max={today}
            value={day}
            aria-valuetext={dateOfDay(day)}
            onInput={(event) => setDay(Number(event.currentTarget.value))}
          />
        </div>
      ) : null}
      <div class="actions">
        <Button type="submit" tone="primary">
          {t('datasets.ask')}
        </Button>
      </div>
      {name === null ? null : <Facts name={name} />}
    </form>
  );
}

function Facts({ name }: { name: string }) {
  const facts = useResource(`identity ${name}`, (signal) => askTexts(name, signal), { freshMs: 60_000 });
  if (facts.state === 'loading') return <Loading />;
  if (facts.state === 'failed') return <ErrorNote error={facts.error} again={facts.again} />;
  const [text] = facts.value;
  if (text === undefined) return <p role="status">{t('datasets.nothing')}</p>;
  return (
    <dl class="facts" aria-live="polite">
      {[...textFields(text)].map(([field, value]) => (
        <div key={field}>
          <dt class="code">{field}</dt>
          <dd class="wrap">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
