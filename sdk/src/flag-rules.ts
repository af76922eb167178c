/** What a document of a flag means, for the provider and for the server that evaluates: it imports nothing of OpenFeature. */
export { type Context, evaluate, type Versions } from './openfeature/evaluate.ts';
export { type Flag, FlagError, parseFlag } from './openfeature/flag.ts';
