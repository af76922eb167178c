import { createRegister, type Effect, type Register, type Write } from './register.ts';
import type { Request } from './told.ts';

/** A webhook as its owner knows it. What the service itself disables is not among it. */
export interface WebhookState {
  readonly account: string;
  /** It exists since a request that was sent then, and was answered by then. */
  readonly from: number;
  readonly to: number;
  readonly url: Register<string>;
  readonly events: Register<readonly string[]>;
  /** Empty: all of the account. */
  readonly namespaces: Register<readonly string[]>;
  readonly isEnabled: Register<boolean>;
  readonly isDeleted: Register<boolean>;
  /** Null: the answer that had it was lost. */
  readonly secret: Register<string | null>;
}

export interface WebhookStates {
  readonly byId: ReadonlyMap<string, WebhookState>;
  /** Every URL that anybody ever asked for, and by which request for a new webhook: the answer may have been lost. Null: by another one. */
  readonly urls: ReadonlyMap<string, Write<unknown> | null>;
  /** Ids of deliveries that somebody asked to be sent at once, and not by the schedule. */
  readonly hurried: ReadonlySet<string>;
  effects(request: Request, from: number): readonly Effect[];
  /** The account goes, and its webhooks with it. */
  end(account: string, from: number): readonly Effect[];
  /** @returns null: it was known */
  made(
    request: Request,
    body: { readonly id: string; readonly signing_secret: string },
    from: number,
    at: number,
  ): WebhookState | null;
}

export function createWebhookStates(): WebhookStates {
  const byId = new Map<string, WebhookState>();
  const urls = new Map<string, Write<unknown> | null>();
  const hurried = new Set<string>();

  return {
    byId,
    urls,
    hurried,
    effects({ method, path, body }, from) {
      const asked = body?.webhook ?? {};
      if (path === '/webhooks' && method === 'POST') {
        const write = createRegister(false).begin(true, from);
        urls.set(asked.url, write);
        return [{ write }];
      }
      if (asked.url !== undefined) urls.set(asked.url, null);
      const [, delivery] = /\/deliveries\/([^/]+)\/redeliver$/.exec(path) ?? [];
      if (delivery !== undefined) hurried.add(delivery);
      const [, id, action] = /^\/webhooks\/([^/]+)(?:\/(\w+))?$/.exec(path) ?? [];
      const webhook = byId.get(id ?? '');
      if (webhook === undefined) return [];
      if (action === 'regenerate_secret') {
        const write = webhook.secret.begin(null, from);
        const told = (answer: { readonly signing_secret: string }): void => {
          write.value = answer.signing_secret;
        };
        return [{ write, told }];
      }
      if (action !== undefined) return [];
      if (method === 'DELETE') return [{ write: webhook.isDeleted.begin(true, from) }];
      const { url, events, enabled, scopes } = asked;
      return [
        ...(url === undefined ? [] : [{ write: webhook.url.begin(url, from) }]),
        ...(events === undefined ? [] : [{ write: webhook.events.begin(events, from) }]),
        ...(enabled === undefined ? [] : [{ write: webhook.isEnabled.begin(enabled, from) }]),
        ...(scopes === undefined ? [] : [{ write: webhook.namespaces.begin(scopes.namespaces, from) }]),
      ];
    },
    end: (account, from) =>
      [...byId.values()]
        .filter((webhook) => webhook.account === account)
        .map(({ isDeleted }) => ({ write: isDeleted.begin(true, from) })),
    made({ account, body: { webhook } }, { id, signing_secret }, from, to) {
      if (byId.has(id)) return null;
      const made: WebhookState = {
        account,
        from,
        to,
        url: createRegister(webhook.url),
        events: createRegister(webhook.events),
        namespaces: createRegister(webhook.scopes?.namespaces ?? []),
        isEnabled: createRegister(true),
        isDeleted: createRegister(false),
        secret: createRegister<string | null>(signing_secret),
      };
      byId.set(id, made);
      return made;
    },
  };
}
