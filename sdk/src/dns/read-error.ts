/** Why a read gave no data. No message holds the name: it may hold a token. */
export class ReadError extends Error {
  override readonly name: string = 'ReadError';
}
