import { t } from '../../text/text.ts';
import type { ChainStep } from './chain.ts';

/** The chain of trust as a row of boxes. Each link says in words what its colour says. */
export function ChainView({ steps }: { readonly steps: readonly ChainStep[] }) {
  return (
    <div class="chain-box">
      <ol class="chain" aria-label={t('playground.chain')}>
        {steps.map(({ name, detail, link }) => (
          <li key={name} class={link?.state ?? 'open'}>
            {link === null ? null : (
              <span class="chain-link">
                <span class="chain-line" />
                <small>{link.text}</small>
              </span>
            )}
            <span class="chain-step">
              <strong>{name}</strong>
              <small>{detail}</small>
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
