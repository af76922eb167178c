import { createDnsCheck, type DnsCheck } from './dns-answers.ts';
import { createModel, type Model, type Pending } from './model.ts';
import type { DnsAnswer, Request } from './told.ts';

export const KEY = 'k.doc.acme.v1';
export const FIELDS = { content_type: 'text/plain', ttl_seconds: 300, expires_at: null };

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A history that a test writes by hand. Each step is a second. */
export class Told {
  readonly model: Model = createModel();
  readonly dns: DnsCheck = createDnsCheck(this.model, { ahead: () => 0 });
  ms = 0;

  step(): number {
    this.ms += 1000;
    return this.ms;
  }

  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Pending {
    const request: Request = {
      account: 'a',
      credential: 'session',
      method,
      path,
      body,
      ...(headers && { headers }),
    };
    return this.model.sent(this.step(), request);
  }

  answer(pending: Pending, status: number, body: unknown = null): void {
    this.model.answered(this.step(), pending, { status, body, headers: {} });
  }

  do(method: string, path: string, body: unknown, status: number, answer: unknown = null): void {
    this.answer(this.send(method, path, body), status, answer);
  }

  /** A namespace with a token. */
  begin(): this {
    this.do('POST', '/namespaces', { namespace: { name: 'acme' } }, 201, { id: 'n1', name: 'acme' });
    const token = { id: 't1', token: 'secret', expires_at: new Date(100_000).toISOString() };
    this.do('POST', '/namespaces/n1/query_tokens', { name: 't' }, 201, token);
    return this;
  }

  write(id: string, text: string, fields: object = {}): void {
    const record = { key: KEY, data: base64(text), ...FIELDS, ...fields };
    this.do('POST', '/records', { record }, 201, { id, ...record });
  }

  /** @param text null: empty */
  see(text: string | null, more: Partial<DnsAnswer> = {}): void {
    this.model.event(this.step());
    const answers =
      text === null ? [] : [{ text: `v=svc1;s=ok;t=data;e=b64;f=text;ttl=300;d=${base64(text)}`, ttl: 0 }];
    this.dns.answered({
      node: 'n1',
      sentAt: this.ms,
      answeredAt: this.ms,
      clock: { from: this.ms, to: this.ms },
      claim: { epoch: 'e', currentAt: this.ms },
      key: KEY,
      token: 'secret',
      type: 'TXT',
      rcode: 'NOERROR',
      answers,
      ...more,
    });
  }

  refused(more: Partial<DnsAnswer> = {}): void {
    this.see(null, { rcode: 'REFUSED', ...more });
  }
}
