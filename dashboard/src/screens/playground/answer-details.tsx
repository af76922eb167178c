import { useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { type DnsMessage, decodeMessage } from '../../../../sdk/src/dns.ts';
import { useMeta } from '../../app/meta.ts';
import { maskName, maskText } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import { CodeBlock } from '../../ui/code-block.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import type { Arrived } from './asked.ts';
import type { ChainStep } from './chain.ts';
import { comparedRows } from './compare.ts';
import { digText } from './dig-text.ts';
import { EnvelopeView } from './envelope-view.tsx';
import { HexView } from './hex-view.tsx';
import { snippetsOf } from './snippets.ts';

type TabId = 'octets' | 'fields' | 'dig' | 'json' | 'compare';

export interface AnswerDetailsProps {
  readonly arrived: Arrived;
  readonly octets: Uint8Array;
  /** Of the octets as they are now; null when they are no message. */
  readonly message: DnsMessage | null;
  /** Null: the zone has no keys. */
  readonly steps: readonly ChainStep[] | null;
  readonly changes: ReadonlySet<number>;
  readonly compared: Arrived | null;
  readonly onToggle: (at: number) => void;
  readonly onRestore: () => void;
}

/** The parts of an answer, a tab for each way to look at it. */
export function AnswerDetails(props: AnswerDetailsProps) {
  const { arrived, octets, message, steps, changes, compared, onToggle, onRestore } = props;
  const [chosen, setChosen] = useState<TabId>('octets');
  const spans = useMemo(() => spansOf(arrived.octets), [arrived]);
  useLayoutEffect(() => {
    if (compared !== null) setChosen('compare');
  }, [compared]);
  const tabs = [
    { id: 'octets', text: t('playground.octets') },
    { id: 'fields', text: t('playground.fields') },
    { id: 'dig', text: t('playground.asDig') },
    ...(arrived.json === null ? [] : [{ id: 'json', text: 'JSON' }]),
    ...(compared === null ? [] : [{ id: 'compare', text: t('playground.compared') }]),
  ] as const;
  // A tab may be gone with the answer that had it.
  const current = tabs.some(({ id }) => id === chosen) ? chosen : 'octets';
  return (
    <Tabs
      label={t('playground.details')}
      tabs={tabs}
      current={current}
      onChange={(id) => setChosen(id as TabId)}
    >
      {current === 'octets' ? (
        <HexView
          original={arrived.octets}
          octets={octets}
          spans={spans}
          steps={steps}
          changes={changes}
          onToggle={onToggle}
          onRestore={onRestore}
        />
      ) : null}
      {current === 'fields' ? <FieldsView message={message} /> : null}
      {current === 'dig' ? <DigView arrived={arrived} message={message} /> : null}
      {current === 'json' && arrived.json !== null ? (
        <CodeBlock code={maskText(indented(arrived.json))} label="JSON" language="json" />
      ) : null}
      {current === 'compare' && compared !== null ? <ComparedView one={compared} other={arrived} /> : null}
    </Tabs>
  );
}

function spansOf(octets: Uint8Array): DnsMessage['spans'] {
  try {
    return decodeMessage(octets).spans;
  } catch {
    return [];
  }
}

function FieldsView({ message }: { readonly message: DnsMessage | null }) {
  if (message === null) return <p>{t('playground.noMessage')}</p>;
  return <EnvelopeView message={message} />;
}

function DigView({
  arrived: { asked, times },
  message,
}: {
  readonly arrived: Arrived;
  readonly message: DnsMessage | null;
}) {
  const meta = useMeta();
  const { name } = maskName(asked.name, null);
  const server = { dns: meta.value?.endpoints.dns ?? null, origin: location.origin };
  const dig = snippetsOf({ ...asked, name }, server).find((one) => one.name === 'dig');
  return (
    <>
      {dig === undefined ? null : <CodeBlock code={dig.code} label="dig" />}
      {message === null ? (
        <p>{t('playground.noMessage')}</p>
      ) : (
        <CodeBlock code={digText(message, times[0])} label={t('playground.asDig')} language="text" />
      )}
    </>
  );
}

function ComparedView({ one, other }: { readonly one: Arrived; readonly other: Arrived }) {
  const rows = comparedRows(one, other);
  return (
    <div class="compared" role="group" aria-label={t('playground.compared')} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('playground.part')}</th>
            <th scope="col">{t('playground.comparedOther')}</th>
            <th scope="col">{t('playground.comparedThis')}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, values, isSame }) => (
            <tr key={name} class={isSame ? '' : 'differs'}>
              <th scope="row">
                {name}
                {isSame ? null : <span class="hidden"> {t('playground.differs')}</span>}
              </th>
              <td class="code">{values[0]}</td>
              <td class="code">{values[1]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
