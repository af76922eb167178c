import { serviceSchema } from '../schema.ts';
import type { ServiceDescription } from '../service.ts';

export const CIDR_ABOUT: ServiceDescription = {
  schema: serviceSchema({
    resource: 'cidr',
    title: 'Network of addresses',
    description:
      'What a network holds, and whether an address before it is in it; IPv4 and IPv6. Names have hyphens for dots, colons and the slash: 10.0.0.0/8 is 10-0-0-0-8, 2001:db8::/32 is 2001-db8---32, ::1 is 0--1. The answer never changes: it has no ts.',
    properties: {
      net: { type: 'string', description: 'The network, host bits zero', example: '10.0.0.0/8' },
      mask: { type: 'string', description: 'Its mask, IPv4 only', example: '255.0.0.0' },
      first: { type: 'string', description: 'First address', example: '10.0.0.0' },
      last: { type: 'string', description: 'Last address', example: '10.255.255.255' },
      min: { type: 'string', description: 'First address of a host', example: '10.0.0.1' },
      max: { type: 'string', description: 'Last address of a host', example: '10.255.255.254' },
      n: {
        type: 'string',
        description: 'Count of all addresses, up to 2^128',
        example: '16777216',
        pattern: '^[1-9]\\d*$',
      },
      ip: { type: 'string', description: 'The address asked about', example: '10.1.2.3' },
      in: { type: 'string', description: 'Whether it is in', example: 'yes', enum: ['yes', 'no'] },
    },
    optional: ['mask', 'ip', 'in'],
  }),
  template: 'get.{network}.cidr.public.v1',
  placeholders: {
    network: {
      type: 'string',
      examples: ['10-0-0-0-8', '192-0-2-77-28', '2001-db8---32', '10-1-2-3.10-0-0-0-8'],
    },
  },
  examples: [
    'get.10-0-0-0-8.cidr.public.v1',
    'get.10-1-2-3.10-0-0-0-8.cidr.public.v1',
    'get.2001-db8---32.cidr.public.v1',
  ],
  exampleResponse:
    'v=svc1;s=ok;t=data;net=10.0.0.0/8;mask=255.0.0.0;first=10.0.0.0;last=10.255.255.255;min=10.0.0.1;max=10.255.255.254;n=16777216',
  ttl: 86_400,
  errors: [],
};
