import { useState } from 'preact/hooks';
import { buildName, NameError, type Operation, parseName } from '../../../../sdk/src/dns.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Select, TextField } from '../../ui/field.tsx';
import { encodeLabel, type LabelEncoding } from './label-encoding.ts';
import { MASK, type MaskedName, maskName, unmaskName } from './masked-name.ts';
import { zoneOf } from './name-parts.ts';

const OPERATIONS: readonly Operation[] = ['get', 'info', 'geoip', 'manifest', 'identity'];
const ENCODINGS: readonly LabelEncoding[] = ['plain', 'b32', 'hex', 'b64'];

interface Param {
  readonly text: string;
  readonly encoding: LabelEncoding;
}

interface Parts {
  readonly operation: Operation;
  readonly token: string;
  readonly params: readonly Param[];
  readonly resource: string;
  readonly namespace: string;
  readonly version: string;
  readonly zone: string;
}

export interface BuilderProps {
  readonly masked: MaskedName;
  readonly zones: readonly string[];
  readonly onBuilt: (masked: MaskedName) => void;
}

/** A form with a field for each part of a name. Whatever it holds becomes the name when it makes one. */
export function Builder({ masked, zones, onBuilt }: BuilderProps) {
  const [parts, setParts] = useState(() => partsOf(masked, zones));
  const [fault, setFault] = useState<string | null>(null);
  const change = (changes: Partial<Parts>): void => {
    const next = { ...parts, ...changes };
    setParts(next);
    const built = nameOf(next);
    setFault(typeof built === 'string' ? null : built.message);
    if (typeof built === 'string') onBuilt(maskName(built, null));
  };
  const changeParam = (at: number, changes: Partial<Param>): void =>
    change({ params: parts.params.map((param, index) => (index === at ? { ...param, ...changes } : param)) });
  return (
    <fieldset class="builder stack" aria-label={t('playground.builder')}>
      <div class="cards">
        <Select
          label={t('playground.partOperation')}
          help={t('playground.ruleOperation')}
          value={parts.operation}
          options={OPERATIONS.map((value) => ({ value, text: value }))}
          onChange={(operation) => change({ operation })}
        />
        <TextField
          label={t('playground.partToken')}
          help={t('playground.ruleToken')}
          type="password"
          value={parts.token}
          onInput={(token) => change({ token })}
          isCode
        />
        {parts.params.map((param, at) => (
          <div key={at} class="stack">
            <TextField
              label={`${t('playground.partParam')} ${at + 1}`}
              help={t('playground.ruleParam')}
              error={encodeLabel(param.text, param.encoding) === null ? t('playground.notALabel') : null}
              value={param.text}
              onInput={(text) => changeParam(at, { text })}
              isCode
            />
            <Select
              label={`${t('playground.encoding')} ${at + 1}`}
              help={param.encoding === 'b64' ? t('playground.warnB64') : undefined}
              value={param.encoding}
              options={ENCODINGS.map((value) => ({ value, text: value === 'plain' ? value : `${value}-` }))}
              onChange={(encoding) => changeParam(at, { encoding })}
            />
            <Button
              label={`${t('playground.removeParam')} ${at + 1}`}
              onClick={() => change({ params: parts.params.filter((_, index) => index !== at) })}
            >
              {t('playground.removeParam')}
            </Button>
          </div>
        ))}
        {(['resource', 'namespace', 'version'] as const).map((field) => (
          <TextField
            key={field}
            label={t(FIELD_TEXTS[field].label)}
            help={t(FIELD_TEXTS[field].rule)}
            value={parts[field]}
            onInput={(value) => change({ [field]: value })}
            isCode
          />
        ))}
        <Select
          label={t('playground.partZone')}
          value={parts.zone}
          options={zones.map((value) => ({ value, text: value }))}
          onChange={(zone) => change({ zone })}
        />
      </div>
      {fault === null ? null : <p class="field-error">{fault}</p>}
      <div class="actions">
        <Button onClick={() => change({ params: [...parts.params, { text: 'a', encoding: 'plain' }] })}>
          {t('playground.addParam')}
        </Button>
      </div>
    </fieldset>
  );
}

const FIELD_TEXTS = {
  resource: { label: 'playground.partResource', rule: 'playground.ruleResource' },
  namespace: { label: 'playground.partNamespace', rule: 'playground.ruleNamespace' },
  version: { label: 'playground.partVersion', rule: 'playground.ruleVersion' },
} as const;

/** The parts of the present name, where it has them. */
function partsOf(masked: MaskedName, zones: readonly string[]): Parts {
  const zone = zoneOf(masked.name, zones) ?? zones[0] ?? '';
  const whole = unmaskName(masked).replace(/\.$/, '');
  const parsed = parseName(whole.slice(0, Math.max(0, whole.length - zone.length - 1)).replace(MASK, ''));
  if (parsed.kind !== 'query') {
    return { operation: 'get', token: '', params: [], resource: '', namespace: '', version: 'v1', zone };
  }
  const { operation, token, params, resource, namespace, version } = parsed.query;
  const plain = params.map((text) => ({ text, encoding: 'plain' }) as const);
  return { operation, token: token ?? '', params: plain, resource, namespace, version, zone };
}

function nameOf({ params, token, zone, ...parts }: Parts): string | NameError {
  try {
    const labels = params.map(({ text, encoding }) => encodeLabel(text, encoding) ?? '');
    return buildName({ ...parts, params: labels, token: token === '' ? null : token }, zone);
  } catch (error) {
    if (error instanceof NameError) return error;
    throw error;
  }
}
