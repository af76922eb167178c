import { constant, malformedAnswer, parseInteger } from './answers.ts';
import { type Service, type ServiceDescription, serviceSchema } from './service.ts';

const DIGITS_MAX = 1000;
/** Digits that are computed beyond the last one, and lost by rounding. */
const GUARD = 10;

let computed: string | null = null;

/** Digits of pi behind the point, cut off and not rounded. The first call computes all (1 ms). @param count 1 to `DIGITS_MAX` */
function piDigits(count: number): string {
  computed ??= machin(DIGITS_MAX);
  return computed.slice(0, count);
}

/** pi = 16 arctan(1/5) - 4 arctan(1/239) (Machin, 1706). */
function machin(digits: number): string {
  const unit = 10n ** BigInt(digits + GUARD);
  const pi = 16n * arctanOfInverse(5n, unit) - 4n * arctanOfInverse(239n, unit);
  // Behind the 3.
  return pi.toString().slice(1, digits + 1);
}

/** arctan(1 / x) in units of 1 / `unit`. */
function arctanOfInverse(x: bigint, unit: bigint): bigint {
  let power = unit / x;
  let sum = power;
  for (let n = 3n; power !== 0n; n += 2n) {
    power /= -(x * x);
    sum += power / n;
  }
  return sum;
}

export const PI_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'pi',
    title: 'Digits of pi',
    description: `Pi with 1 to ${DIGITS_MAX} digits behind the point, cut off and not rounded. The answer never changes: it has no ts.`,
    properties: {
      n: {
        type: 'integer',
        description: 'Digits behind the point',
        example: 20,
        minimum: 1,
        maximum: DIGITS_MAX,
      },
      pi: { type: 'string', description: 'Pi', example: '3.14159265358979323846', pattern: '^3\\.\\d+$' },
    },
  }),
  template: 'get.{digits}.pi.public.v1',
  placeholders: { digits: { type: 'integer', examples: ['20', '1', '1000'] } },
  examples: ['get.20.pi.public.v1', 'get.1000.pi.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;n=20;pi=3.14159265358979323846',
  ttl: 86_400,
  errors: [],
};

/** `get.<digits>.pi.public.v1` */
export function makePi(): Service {
  return {
    resource: 'pi',
    operation: 'get',
    enabled: true,
    about: PI_ABOUT,
    answer(params) {
      const [label] = params;
      if (label === undefined) return malformedAnswer('parameter');
      const count = params.length > 1 ? null : parseInteger(label, 4);
      if (count === null || count < 1 || count > DIGITS_MAX) return malformedAnswer('value');
      return constant({ n: count, pi: `3.${piDigits(count)}` }, PI_ABOUT.ttl);
    },
  };
}
