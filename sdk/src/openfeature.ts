/** `uqrp-sdk/openfeature`: a provider for `@openfeature/server-sdk`. */
export { type Flag, FlagError, parseFlag } from './openfeature/flag.ts';
export { UqrpProvider, type UqrpProviderOptions } from './openfeature/provider.ts';
