import { useState } from 'preact/hooks';
import { buildName, NameError, parseName, type QueryOperation } from '../../../../sdk/src/dns.ts';
import type { ParamEncoding } from '../../../../src/protocol/query/params.ts';
import { MASK, type MaskedName, maskName, unmaskName } from '../../format/masked-name.ts';
import { t } from '../../text/text.ts';
import { Select, TextField } from '../../ui/field.tsx';
import { KeyFields, type KeyParts, labelsOf } from './key-fields.tsx';
import { zoneOf } from './name-parts.ts';

const OPERATIONS: readonly QueryOperation[] = ['get', 'info', 'geoip', 'manifest', 'identity'];
const ENCODINGS: readonly ParamEncoding[] = ['plain', 'b32', 'hex', 'b64'];

interface Parts extends KeyParts {
  readonly operation: QueryOperation;
  readonly token: string;
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
  return (
    <KeyFields
      label={t('playground.builder')}
      parts={parts}
      encodings={ENCODINGS}
      fault={fault}
      onChange={change}
      before={
        <>
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
        </>
      }
    >
      <Select
        label={t('playground.partZone')}
        value={parts.zone}
        options={zones.map((value) => ({ value, text: value }))}
        onChange={(zone) => change({ zone })}
      />
    </KeyFields>
  );
}

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
    return buildName({ ...parts, params: labelsOf(params), token: token === '' ? null : token }, zone);
  } catch (error) {
    if (error instanceof NameError) return error;
    throw error;
  }
}
