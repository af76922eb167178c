import autocannon from 'autocannon';
import { type Account, writeRecords } from '../../test/support/server-process.ts';

const CONNECTIONS = 16;
const BULK_SIZE = 500;
/** Records that PATCH and GET name in turn. */
const KNOWN = 500;

const data = Buffer.alloc(100, 'x').toString('base64');
let made = 0;

/** A load of one kind of request. */
export interface RestLoad {
  readonly name: string;
  /** @param ids of records of the customer. @returns how many records it wrote or read */
  run(customer: Account, ids: readonly string[]): Promise<number>;
}

interface LoadOptions {
  /** Of each load of single records. */
  readonly seconds: number;
  /** Bulk requests of 500 records in one load. */
  readonly bulks: number;
  /** Of the records. */
  readonly namespace?: string;
  /** Requests a second; without it as many as there can be. */
  readonly rate?: number;
}

export function restLoads({ seconds, bulks, namespace = 'bench', rate }: LoadOptions): readonly RestLoad[] {
  const single =
    (method: 'POST' | 'PATCH' | 'GET', path: (ids: readonly string[]) => string, body: () => unknown) =>
    (customer: Account, ids: readonly string[]): Promise<number> =>
      singles(customer, { seconds, rate }, method, () => ({ path: path(ids), body: body() }));
  const known = (ids: readonly string[]): string => `/records/${ids[made++ % ids.length]!}`;
  return [
    {
      name: 'POST',
      run: single(
        'POST',
        () => '/records',
        () => ({ record: { key: `s${made++}.${namespace}.v1`, data } }),
      ),
    },
    { name: 'PATCH', run: single('PATCH', known, () => ({ record: { data } })) },
    { name: 'GET', run: single('GET', known, () => undefined) },
    { name: 'bulk', run: (customer) => bulk(customer, bulks) },
  ];
}

/** Makes the records that PATCH and GET name. @returns their ids */
export async function makeRecords(customer: Account): Promise<readonly string[]> {
  await writeRecords(
    customer,
    Array.from({ length: KNOWN }, (_, i) => ({ key: `k${i}.bench.v1`, data })),
  );
  const { body } = await customer.call('GET', `/records?limit=${KNOWN}`);
  return (body as { id: string }[]).map(({ id }) => id);
}

async function singles(
  customer: Account,
  { seconds, rate }: { seconds: number; rate: number | undefined },
  method: 'POST' | 'PATCH' | 'GET',
  next: () => { path: string; body: unknown },
): Promise<number> {
  const result = await autocannon({
    url: customer.base,
    connections: CONNECTIONS,
    duration: seconds,
    ...(rate === undefined ? {} : { overallRate: rate }),
    requests: [
      {
        method,
        setupRequest(request) {
          const { path, body } = next();
          return {
            ...request,
            path: new URL(customer.base).pathname + path,
            headers: {
              authorization: `Bearer ${customer.token}`,
              ...(body !== undefined && { 'content-type': 'application/json' }),
            },
            ...(body !== undefined && { body: JSON.stringify(body) }),
          };
        },
      },
    ],
  });
  if (result.non2xx > 0) throw new Error(`${result.non2xx} of ${method} were refused`);
  return result['2xx'];
}

async function bulk(customer: Account, requests: number): Promise<number> {
  for (let i = 0; i < requests; i++) {
    const records = Array.from({ length: BULK_SIZE }, () => ({ key: `b${made++}.bench.v1`, data }));
    const { status } = await customer.call('POST', '/records/bulk', { records });
    if (status !== 200 && status !== 201) throw new Error(`bulk write: ${status}`);
  }
  return requests * BULK_SIZE;
}
