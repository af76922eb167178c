import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const WORDS_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'words',
    title: 'Number in words',
    description:
      'A number in English words, short scale, up to the length of a label. In the name n is the minus sign and d the decimal point. The answer never changes: it has no ts.',
    properties: {
      val: {
        type: 'string',
        description: 'The number asked for',
        example: '2042',
        pattern: '^-?\\d+(\\.\\d+)?$',
      },
      words: { type: 'string', description: 'In words', example: 'two thousand forty-two' },
      ord: {
        type: 'string',
        description: 'The ordinal, of whole numbers from 0 on',
        example: 'two thousand forty-second',
      },
    },
    optional: ['ord'],
  }),
  template: 'get.{number}.words.public.v1',
  placeholders: { number: { type: 'string', examples: ['2042', 'n40', '3d14', 'd5'] } },
  examples: ['get.2042.words.public.v1', 'get.n40.words.public.v1', 'get.3d14.words.public.v1'],
  exampleResponse: 'v=svc1;s=ok;t=data;val=2042;words=two thousand forty-two;ord=two thousand forty-second',
  ttl: 86_400,
  errors: [],
};
