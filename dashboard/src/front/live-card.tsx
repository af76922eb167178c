import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../text/text.ts';
import { Button } from '../ui/button.tsx';
import { DiceIcon, Icon } from '../ui/icon.tsx';
import { answerWords } from './answer-panel.tsx';
import { askServer, type FrontAnswer } from './ask-server.ts';

/** Characters above which a value has smaller letters. */
const LONG = 18;
/** Milliseconds before a service that is still fetching is asked again, once. */
const AGAIN_MS = 3000;

/** Services that have no answer now, as cards have found. */
export const awayServices = signal<ReadonlySet<string>>(new Set());

export interface LiveCardProps {
  readonly service: string;
  /** A full query name. */
  readonly name: string;
  /** Default: what the answer says of itself. */
  readonly title?: string;
  /** Default: the page of the service. */
  readonly href?: string;
  readonly canAsk: boolean;
  /** Without an answer when it was asked twice it is listed in `awayServices`, for others to take its place. It does not say so before. */
  readonly canGive?: boolean;
}

/** A service, and what it says now. */
export function LiveCard({
  service,
  name,
  title,
  href = `/services/${service}`,
  canAsk,
  canGive = false,
}: LiveCardProps) {
  const [answer, setAnswer] = useState<FrontAnswer | 'none' | null>(null);
  const [isAgain, setAgain] = useState(false);
  const [wasAsked, setAsked] = useState(false);
  const ask = (): Promise<void> => askServer(name).then(setAnswer, () => setAnswer('none'));
  useEffect(() => {
    if (!canAsk) return;
    void ask();
    const timer = setTimeout(() => setAgain(true), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [canAsk, name]);
  const isAway = answer !== null && answer !== 'none' && answer.problem === 'away';
  useEffect(() => {
    if (isAgain && isAway && !wasAsked) void ask().then(() => setAsked(true));
  }, [isAgain, isAway]);
  useEffect(() => {
    if (canGive && wasAsked && isAway) awayServices.value = new Set([...awayServices.value, service]);
  }, [wasAsked, isAway]);
  const isPending = isAway && canGive && !wasAsked;
  return (
    <li class="live-card">
      <a href={href}>
        {title === undefined ? null : <span class="live-title">{title}</span>}
        <span class="live-value" aria-live={service === 'dice' ? 'polite' : undefined}>
          {isPending || answer === null ? '\u00a0' : <LiveValue service={service} answer={answer} />}
        </span>
        <code class="live-name">{name.replace(/\.public\.v1\..*$/, '')}</code>
      </a>
      {service === 'dice' ? (
        <Button tone="quiet" label={t('front.again')} title={t('front.again')} onClick={() => void ask()}>
          <Icon of={DiceIcon} />
        </Button>
      ) : null}
    </li>
  );
}

function LiveValue({ service, answer }: { readonly service: string; readonly answer: FrontAnswer | 'none' }) {
  if (answer === 'none' || answer.problem !== null) return <span class="dim">{t('front.away')}</span>;
  const offset = answer.fields?.get('off');
  if (service === 'time' && offset !== undefined)
    return (
      <>
        <Clock iso={answer.fields?.get('iso') ?? ''} offset={Number(offset)} />
        <span class="live-detail">{answer.fields?.get('loc')}</span>
      </>
    );
  const { headline, detail } = answerWords(answer);
  if (service === 'dice') return <>{`${sumOf(answer.fields)}${headline}`}</>;
  return (
    <>
      <span class={headline.length > LONG ? 'live-long' : undefined}>{headline}</span>
      <span class="live-detail">{detail}</span>
    </>
  );
}

/** `3 5` of `2d6+1` is 3 + 5 + 1 = ; a single die needs no sum. */
function sumOf(fields: FrontAnswer['fields']): string {
  const plus = /[+-]\d+$/.exec(fields?.get('dice') ?? '')?.[0] ?? '';
  const rolls = (fields?.get('rolls') ?? '').replaceAll(' ', ' + ');
  if (plus === '' && /^\d*$/.test(rolls)) return '';
  return `${rolls}${plus.replace(/^[+-]/, (sign) => (sign === '+' ? ' + ' : ' − '))} = `;
}

const SECOND = 1000;

/** The time that the server gave, which goes on. @param offset seconds east of UTC */
function Clock({ iso, offset }: { readonly iso: string; readonly offset: number }) {
  // The clock of this machine may be wrong, so only its steps count.
  const [began] = useState(() => Date.parse(iso) - performance.now());
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), SECOND);
    return () => clearInterval(timer);
  }, []);
  return <span>{new Date(began + now + offset * SECOND).toISOString().slice(11, 19)}</span>;
}
