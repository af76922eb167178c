import { useRef, useState } from 'preact/hooks';
import type {
  MintedQueryToken,
  NamespaceResource,
  QueryTokenResource,
} from '../../../../sdk/src/uqrp-sdk.ts';
import { api } from '../../app/client.ts';
import { type Shortcut, useShortcuts } from '../../app/shortcuts.ts';
import { invalidate } from '../../data/resource.ts';
import { keyedCurl } from '../../format/keyed-curl.ts';
import { t } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Badge } from '../../ui/chips.tsx';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorNote } from '../../ui/error-note.tsx';
import { Checkbox } from '../../ui/field.tsx';
import { Loading } from '../../ui/loading.tsx';
import { makerText } from '../../ui/maker.ts';
import { Time } from '../../ui/time.tsx';
import { dropToken, holdToken, knownToken } from '../records/page-tokens.ts';
import { MintDialog } from './mint-dialog.tsx';
import { MintedDialog } from './minted-dialog.tsx';
import { RefusalWatch } from './refusal-watch.tsx';
import { stateOf, useTokens } from './use-tokens.ts';

const TONES = { live: 'good', ended: 'warn', revoked: 'bad' } as const;

const COLUMNS: readonly Column<QueryTokenResource>[] = [
  {
    id: 'name',
    head: t('tokens.name'),
    isRowHeader: true,
    width: 'minmax(10rem, 2fr)',
    cell: ({ name, session }) => (
      <>
        {name} {session ? <Badge text={t('tokens.ofPages')} /> : null}
      </>
    ),
  },
  {
    id: 'state',
    head: t('tokens.state'),
    width: '7rem',
    cell: (token) => {
      const state = stateOf(token, Date.now());
      return <Badge tone={TONES[state]} text={t(`tokens.${state}`)} />;
    },
  },
  { id: 'ends', head: t('tokens.ends'), width: '9rem', cell: ({ expires_at }) => <Time at={expires_at} /> },
  {
    id: 'made',
    head: t('tokens.made'),
    width: '9rem',
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  { id: 'by', head: t('ui.by'), width: '9rem', cell: makerText },
];

/** A revocation, and the token itself where this page knows it. */
interface Revoked {
  readonly id: string;
  readonly name: string;
  readonly token: string | null;
  readonly at: number;
}

export interface TokensTabProps {
  readonly namespace: NamespaceResource;
}

const NO_SHORTCUTS: readonly Shortcut[] = [];

/** Query tokens of a namespace. */
export function TokensTab({ namespace }: TokensTabProps) {
  const tokens = useTokens(namespace.id);
  const [withPages, setWithPages] = useState(false);
  const [isMinting, setMinting] = useState(false);
  const [minted, setMinted] = useState<MintedQueryToken | null>(null);
  const [asked, setAsked] = useState<QueryTokenResource | null>(null);
  const [revoked, setRevoked] = useState<Revoked | null>(null);
  const shortcuts = useRef<Shortcut[]>([{ keys: 'c', text: 'tokens.new', run: () => setMinting(true) }]);
  const isSuspended = namespace.suspended === true;
  useShortcuts(isSuspended ? NO_SHORTCUTS : shortcuts.current);
  if (tokens.state === 'loading') return <Loading />;
  if (tokens.state === 'failed') return <ErrorNote error={tokens.error} again={tokens.again} />;
  const rows = tokens.value.filter(({ session }) => withPages || !session);
  const create = isSuspended ? null : (
    <Button tone="primary" onClick={() => setMinting(true)}>
      {t('tokens.new')}
    </Button>
  );
  return (
    <>
      {tokens.error === undefined ? null : <ErrorNote error={tokens.error} again={tokens.again} />}
      {revoked === null ? null : <RefusalWatch key={revoked.id} namespace={namespace} {...revoked} />}
      {rows.length === 0 ? (
        <EmptyState
          title={t('tokens.empty', { namespace: namespace.name })}
          text={t('tokens.emptyText')}
          {...(!isSuspended && {
            command: `${keyedCurl()} -s ${location.origin}/api/v1/namespaces/${namespace.id}/query_tokens \\\n  -H 'Content-Type: application/json' \\\n  -d '{"name": "office", "expires_in_days": 90}'`,
          })}
        >
          {create}
        </EmptyState>
      ) : (
        <>
          <div class="actions">{create}</div>
          <DataTable
            label={t('tokens.title')}
            columns={COLUMNS}
            rows={rows}
            rowKey={({ id }) => id}
            rowName={({ name }) => name}
            actionsWidth="8rem"
            actions={(token) =>
              stateOf(token, Date.now()) === 'live' ? (
                <Button tone="quiet" onClick={() => setAsked(token)}>
                  {t('tokens.revoke')}
                </Button>
              ) : null
            }
          />
        </>
      )}
      {tokens.value.some(({ session }) => session) ? (
        <Checkbox
          label={t('tokens.showPages')}
          help={t('tokens.pagesHelp')}
          isChecked={withPages}
          onChange={() => setWithPages(!withPages)}
        />
      ) : null}
      {isMinting && !isSuspended ? (
        <MintDialog
          namespace={namespace}
          onClose={() => setMinting(false)}
          onMinted={(made) => {
            holdToken(made);
            invalidate(`tokens ${namespace.id}`);
            setMinting(false);
            setMinted(made);
          }}
        />
      ) : null}
      {minted === null ? null : (
        <MintedDialog namespace={namespace} minted={minted} onStored={() => setMinted(null)} />
      )}
      {asked === null ? null : (
        <ConfirmDialog
          title={t('tokens.revokeThis', { name: asked.name })}
          confirm={t('tokens.revoke')}
          onClose={() => setAsked(null)}
          onConfirm={async () => {
            const token = knownToken(asked.id);
            const at = performance.now();
            await api.queryTokens.revoke(namespace.id, asked.id);
            if (token !== null) dropToken(token);
            invalidate(`tokens ${namespace.id}`);
            setRevoked({ id: asked.id, name: asked.name, token, at });
          }}
        >
          <p>{t('tokens.revokeText')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
