import { type Denial, type DnsMessage, denialOf, rcodeName, typeName } from '../../../../sdk/src/dns.ts';
import { useMeta } from '../../app/meta.ts';
import { maskText } from '../../format/masked-name.ts';
import { type TextKey, t } from '../../text/text.ts';

/** What the extended errors of this server mean (docs/PROTOCOL.md). */
const EXTENDED: ReadonlyMap<number, TextKey> = new Map([
  [0, 'playground.ede0'],
  [3, 'playground.ede3'],
  [18, 'playground.ede18'],
  [20, 'playground.ede20'],
  [23, 'playground.ede23'],
  [30, 'playground.ede30'],
]);

const RCODES: Readonly<Record<string, TextKey>> = {
  FORMERR: 'playground.rcodeFormerr',
  NOTIMP: 'playground.rcodeNotimp',
  SERVFAIL: 'playground.rcodeServfail',
};

const REFUSALS = [
  'playground.refusedToken',
  'playground.refusedWrong',
  'playground.refusedNamespace',
  'playground.refusedZone',
] as const satisfies readonly TextKey[];

const DENIALS: Readonly<Record<Denial['kind'], TextKey>> = {
  absent: 'playground.denialAbsent',
  between: 'playground.denialBetween',
  other_types: 'playground.denialOther',
  contradiction: 'playground.denialContradiction',
};

/** An answer in words: its code, its extended errors, and what an empty one proves. */
export function Explanation({
  message,
  zone,
}: {
  message: DnsMessage /** Of the name; null: none of this server. */;
  zone: string | null;
}) {
  const code = RCODES[rcodeName(message.rcode)];
  const isEmpty = message.rcode === 0 && !message.records.some(({ section }) => section === 'answer');
  return (
    <>
      {code === undefined ? null : <p>{t(code)}</p>}
      {rcodeName(message.rcode) === 'REFUSED' ? <Refused isOutside={zone === null} /> : null}
      {message.edns?.extendedErrors.map((error, at) => (
        <p key={at} class="note">
          {t('playground.extended', {
            code: error.code,
            name: error.name,
            text: error.text === '' ? '' : `: ${error.text}`,
          })}{' '}
          {EXTENDED.has(error.code) ? t(EXTENDED.get(error.code)!) : null}
        </p>
      ))}
      {isEmpty ? <Empty message={message} /> : null}
    </>
  );
}

function Refused({ isOutside }: { readonly isOutside: boolean }) {
  const meta = useMeta();
  if (isOutside && meta.value !== undefined)
    return <p>{t('playground.refusedOutside', { zones: meta.value.zones.join(', ') })}</p>;
  return (
    <div>
      <p>{t('playground.refused')}</p>
      <ul>
        {REFUSALS.map((key) => (
          <li key={key}>{t(key)}</li>
        ))}
      </ul>
    </div>
  );
}

function Empty({ message }: { message: DnsMessage }) {
  const denial = denialOf(message);
  return (
    <div class="prose">
      <p>{t('playground.nodata')}</p>
      {denial === null ? null : (
        <p>
          {t(DENIALS[denial.kind], {
            types: denial.types.map(typeName).join(', '),
            next: maskText(denial.next.text),
          })}
        </p>
      )}
    </div>
  );
}
