/** A file of a dataset is wrong. Each message names the file, and the line or field. */
export class DatasetFault extends Error {
  readonly messages: readonly string[];

  constructor(messages: readonly string[]) {
    super(messages.join('\n'));
    this.name = 'DatasetFault';
    this.messages = messages;
  }
}
