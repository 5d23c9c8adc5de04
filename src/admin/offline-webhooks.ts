import { openDatabase } from '../stores/database/database.ts';
import { StoredOutboxLog } from '../stores/webhooks/outbox-log.ts';
import type { OutboxState } from '../webhooks/outbox.ts';
import {
  ownedBy,
  type ShownWebhook,
  type ShownWebhookDetails,
  showWebhook,
  showWebhookDetails,
} from './webhook-shapes.ts';

/** The log of webhooks, as the admin API shows it. */
export interface WebhookLog extends AsyncDisposable {
  /** The newest first. */
  list(filter: WebhookFilter): Promise<readonly ShownWebhook[]>;
  show(id: string): Promise<ShownWebhookDetails | undefined>;
  /** Sends a finished request again; one that waits is left as it is. */
  replay(id: string): Promise<'replayed' | 'waiting' | 'unknown'>;
}

export interface WebhookFilter {
  readonly app: string | undefined;
  readonly instance: string | undefined;
  readonly state: OutboxState | undefined;
  readonly limit: number;
}

/**
 * Opens the log in the store at `url`, for whoever has no running server to ask. What is replayed here is
 * sent by the next server that runs, or within half a minute by one that runs now. Throws `StoreUnavailable`.
 */
export async function openStoredWebhooks(url: string): Promise<WebhookLog> {
  const database = await openDatabase(url);
  const log = new StoredOutboxLog(database);
  return {
    async list({ state, limit, ...owner }) {
      return (await log.list({ ...ownedBy(owner), state, limit })).map(showWebhook);
    },
    async show(id) {
      const found = await log.show(id);
      return found === undefined ? undefined : showWebhookDetails(found);
    },
    async replay(id) {
      const replayed = await log.replay(id, Date.now());
      return typeof replayed === 'string' ? replayed : 'replayed';
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
