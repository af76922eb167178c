/** A start or a command failed for a reason outside the program. The message says what, where and what to do. */
export class StartError extends Error {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'StartError';
  }
}
