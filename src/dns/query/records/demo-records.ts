import type { HostedRecord } from '../../../view/hosted/view.ts';

/** Records of every demo namespace: key without namespace, format, payload. */
const RECORDS: readonly (readonly [resource: string, version: string, format: string, payload: string])[] = [
  ['hello', 'v1', 'text', 'Hello from DNS.'],
  ['motd', 'v1', 'text', 'Records are written over REST and read from anything that can resolve a name.'],
  ['config', 'v1', 'json', '{"log_level":"info","region":"eu","retries":3}'],
  ['flags', 'v1', 'json', '{"new_checkout":true,"beta_banner":false}'],
  ['flags', 'v2', 'json', '{"new_checkout":true,"beta_banner":true,"rollout":0.25}'],
];

const BY_NAME: ReadonlyMap<string, HostedRecord> = new Map(
  RECORDS.map(([resource, version, format, payload]) => [
    `${resource} ${version}`,
    { data: Buffer.from(payload), format, ttlSeconds: 300, expiresAt: null },
  ]),
);

export function demoRecord(
  params: readonly string[],
  resource: string,
  version: string,
): HostedRecord | null {
  return params.length > 0 ? null : (BY_NAME.get(`${resource} ${version}`) ?? null);
}
