import { Counter, type Registry } from 'prom-client';
import { PROVIDER_OUTCOMES, PROVIDERS, type ProviderName, type ProviderOutcome } from './vocabulary.ts';

export type ProviderCalled = (provider: ProviderName, outcome: ProviderOutcome) => void;

/** Counts calls to data providers. Every series begins at 0, so that the first failure is an increase that `rate` sees. */
export function registerProviderMetrics(registry: Registry): ProviderCalled {
  const calls = new Counter({
    registers: [registry],
    name: 'uqrp_provider_calls_total',
    help: 'Calls to data providers by provider and outcome',
    labelNames: ['provider', 'outcome'],
  });
  for (const provider of PROVIDERS) {
    for (const outcome of PROVIDER_OUTCOMES) calls.inc({ provider, outcome }, 0);
  }
  return (provider, outcome) => calls.inc({ provider, outcome });
}
