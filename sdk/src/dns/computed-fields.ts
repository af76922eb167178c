/** Answers of the services that compute: of time, numbers, addresses, distances and chance (docs/SERVICES.md). */

import type { KindsOf } from './service-fields.ts';

export interface LocalTime {
  readonly loc?: string;
  readonly zone: string;
  readonly iso: string;
  readonly day: string;
  readonly off: number;
  readonly chg?: string;
  readonly chgoff?: number;
  readonly ts: number;
}

export interface Instant {
  readonly sec: number;
  readonly iso: string;
  readonly day: string;
  readonly week?: string;
  readonly ts: number;
}

export interface Distance {
  readonly from: string;
  readonly to: string;
  readonly km: number;
  readonly mi: number;
  readonly nmi: number;
  readonly brg?: number;
}

export interface NetworkFacts {
  readonly net: string;
  readonly mask?: string;
  readonly first: string;
  readonly last: string;
  readonly min: string;
  readonly max: string;
  /** Up to 2^128, more than a number holds. */
  readonly n: string;
  readonly ip?: string;
  readonly in?: string;
}

export interface BaseNumber {
  readonly val: string;
  readonly from: number;
  readonly to: number;
  readonly res: string;
}

export interface NumberWords {
  readonly val: string;
  readonly words: string;
  readonly ord?: string;
}

export interface PiDigits {
  readonly n: number;
  readonly pi: string;
}

export interface DiceRoll {
  readonly dice: string;
  readonly rolls: string;
  readonly sum: number;
  readonly ts: number;
}

export interface CoinFlips {
  readonly flips: string;
  readonly heads: number;
  readonly tails: number;
  readonly ts: number;
}

export interface RandomNumber {
  readonly min: number;
  readonly max: number;
  readonly val: number;
  readonly ts: number;
}

export interface Uuid {
  readonly uuid: string;
  readonly ver: number;
  readonly ts: number;
}

interface ComputedFields {
  readonly time: KindsOf<LocalTime>;
  readonly epoch: KindsOf<Instant>;
  readonly aerial: KindsOf<Distance>;
  readonly cidr: KindsOf<NetworkFacts>;
  readonly base: KindsOf<BaseNumber>;
  readonly words: KindsOf<NumberWords>;
  readonly pi: KindsOf<PiDigits>;
  readonly dice: KindsOf<DiceRoll>;
  readonly coin: KindsOf<CoinFlips>;
  readonly random: KindsOf<RandomNumber>;
  readonly uuid: KindsOf<Uuid>;
}

/** The fields of each service and their kinds; `?`: only where known. */
export const COMPUTED_FIELDS: ComputedFields = {
  time: {
    loc: 'text?',
    zone: 'text',
    iso: 'text',
    day: 'text',
    off: 'number',
    chg: 'text?',
    chgoff: 'number?',
    ts: 'number',
  },
  epoch: { sec: 'number', iso: 'text', day: 'text', week: 'text?', ts: 'number' },
  aerial: { from: 'text', to: 'text', km: 'number', mi: 'number', nmi: 'number', brg: 'number?' },
  cidr: {
    net: 'text',
    mask: 'text?',
    first: 'text',
    last: 'text',
    min: 'text',
    max: 'text',
    n: 'text',
    ip: 'text?',
    in: 'text?',
  },
  base: { val: 'text', from: 'number', to: 'number', res: 'text' },
  words: { val: 'text', words: 'text', ord: 'text?' },
  pi: { n: 'number', pi: 'text' },
  dice: { dice: 'text', rolls: 'text', sum: 'number', ts: 'number' },
  coin: { flips: 'text', heads: 'number', tails: 'number', ts: 'number' },
  random: { min: 'number', max: 'number', val: 'number', ts: 'number' },
  uuid: { uuid: 'text', ver: 'number', ts: 'number' },
};
