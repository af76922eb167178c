/**
 * Why a node refuses a message of the feed: the labels of `uqrp_feed_refused_total{reason}`.
 * `size`, `format` and `version` are decided before the signature is checked; all others are about signed messages.
 */
export const FEED_REFUSALS = [
  /** Shorter or longer than any message of its kind, or not as long as it says. */
  'size',
  /** Not a message of this kind, or fields that contradict each other. */
  'format',
  /** A later version of the format. */
  'version',
  /** Signed by a key that the node does not know. */
  'signer',
  'signature',
  /** Of another database. */
  'epoch',
  /** Encrypted under a key that the node does not have, or has no more. */
  'key',
  /** The ciphertext does not belong to this key and header. */
  'decrypt',
  /** The rows do not decompress to the length that the header states. */
  'decompress',
  /** A row is no Change, or their number is not the header's. */
  'rows',
  /** Does not follow the batch that the node has applied. */
  'chain',
  /** Made at another time than this node's clock shows: one of the two clocks is wrong, or the message was held back. */
  'clock',
  /** Made before a message that the node has seen, or for another question than the node's. */
  'replayed',
  /** Meant for another node. */
  'recipient',
  /** A snapshot of another layout, page size or byte order than this node reads. */
  'unfit',
  /** A snapshot that the log does not continue: too old, or later than the log's end. */
  'position',
  /** A part of a snapshot is not there. */
  'missing',
  /** The parts of a snapshot do not make what its manifest says. */
  'content',
] as const;

export type FeedRefusal = (typeof FEED_REFUSALS)[number];

/** A message that must not be used. Holds nothing of its content. */
export class FeedRefusedError extends Error {
  override readonly name = 'FeedRefusedError';
  readonly reason: FeedRefusal;

  constructor(reason: FeedRefusal) {
    super(`a message of the feed was refused: ${reason}`);
    this.reason = reason;
  }
}
