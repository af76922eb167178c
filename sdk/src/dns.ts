/** `uqrp-sdk/dns`: reads over DNS. */

export {
  extendedErrorName,
  parseRrtype as typeOf,
  rcodeName,
  rrtypeName as typeName,
} from '../../src/protocol/dns/codes.ts';
export type {
  BaseNumber,
  CoinFlips,
  DiceRoll,
  Distance,
  Instant,
  LocalTime,
  NetworkFacts,
  NumberWords,
  PiDigits,
  RandomNumber,
  Uuid,
} from './dns/computed-fields.ts';
export {
  type AnswerCheck,
  type AnswerFault,
  type AnswerOptions,
  type AnswerResult,
  checkAnswer,
  checkKeys,
  type Denial,
  type DenialKind,
  denialOf,
  type KeysCheck,
  type KeysOptions,
} from './dns/dnssec/check-answer.ts';
export type { CheckTime, SignatureCheck, SignatureReason } from './dns/dnssec/check-signatures.ts';
export { algorithmName } from './dns/dnssec/verify-signature.ts';
export { type DelegationSigner, readDs, type ZoneKey } from './dns/dnssec/zone-keys.ts';
export { type ExchangeOptions, exchange, exchangeJson, type JsonQuestion } from './dns/doh.ts';
export { type Envelope, readEnvelope } from './dns/envelope.ts';
export {
  LastKnownGoodError,
  Malformed,
  NotFound,
  Refused,
  ServiceError,
  Unavailable,
  Unreadable,
} from './dns/errors.ts';
export {
  type Attestation,
  type AttestationKey,
  type AttestedManifest,
  checkAttestation,
  readAttestationKeys,
  textFields,
} from './dns/manifest-signature.ts';
export {
  type DnsName,
  MessageError,
  nameFromText,
  type OctetSpan,
  type Section,
} from './dns/message/cursor.ts';
export {
  type DnsMessage,
  decodeMessage,
  encodeQuery,
  type HeaderFlags,
  type MessageQuestion,
  type QueryOptions,
  recordsIn,
} from './dns/message/message.ts';
export type { RdataFields, RdataType } from './dns/message/rdata.ts';
export type { Edns, EdnsOption, ExtendedError } from './dns/message/record.ts';
export { type ResourceRecord, rdataOf, txtOf } from './dns/message/record.ts';
export {
  buildName,
  encodeParam,
  NameError,
  type NameParts,
  type ParsedName,
  type ParsedParts,
  parseName,
  partsOfKey,
  type QueryOperation,
} from './dns/name.ts';
export { ReadError } from './dns/read-error.ts';
export {
  type Question,
  type RawReading,
  Reader,
  type ReaderOptions,
  type Reading,
  type ReadOptions,
} from './dns/reader.ts';
export { readServiceDocument, type ServiceDocument } from './dns/schema.ts';
export type {
  AddressLocation,
  Conversion,
  CryptoPrice,
  Forecast,
  ForecastDay,
  ForexRate,
  MoonPhase,
  StockQuote,
  SunTimes,
  Weather,
} from './dns/service-fields.ts';
export { type Place, Services } from './dns/services.ts';
export { PayloadError, type PayloadFault, RolledBack } from './encryption/faults.ts';
