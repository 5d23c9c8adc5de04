import {
  ownedBy,
  type ShownWebhook,
  type ShownWebhookDetails,
  showWebhook,
  showWebhookDetails,
} from '../../admin/webhook-shapes.ts';
import type { UsableConfig } from '../../config/load.ts';
import type { Database } from '../../stores/database/database.ts';
import { StoredOutboxLog } from '../../stores/webhooks/outbox-log.ts';
import type { OutboxState } from '../../webhooks/outbox.ts';
import { AdminApi } from '../admin/admin-api.ts';
import { ownAdminApi, ownAdminPassword } from '../admin/admin-password.ts';
import { openStore } from '../open-store.ts';
import { isAnyPort } from '../own-address.ts';
import { givenAddress } from '../server-address.ts';
import { Unreachable } from '../server-request.ts';

/** The webhook requests of a server, running or not. */
export interface WebhookLog extends AsyncDisposable {
  /** The newest first. */
  list(filter: WebhookFilter): Promise<readonly ShownWebhook[]>;
  show(id: string): Promise<ShownWebhookDetails | undefined>;
  /** Sends a finished request again. A waiting one is left as it is. */
  replay(id: string): Promise<'replayed' | 'waiting' | 'unknown'>;
}

export interface WebhookFilter {
  readonly app: string | undefined;
  readonly instance: string | undefined;
  readonly state: OutboxState | undefined;
  readonly limit: number;
}

/** Opens the log of the server at `url`, else of the running server of the configuration, else of its store. */
export async function openWebhookLog(
  loaded: UsableConfig,
  url: string | undefined,
): Promise<WebhookLog> {
  const { config } = loaded;
  if (url !== undefined) {
    return servedWebhookLog(new AdminApi(givenAddress(url), ownAdminPassword(config)));
  }
  // With port 0 the server listens on any free port, which is not known here.
  if (isAnyPort(config.admin)) return storedWebhookLog(await openStore(config));
  const api = ownAdminApi(loaded);
  try {
    await api.ask('GET', '/webhooks?limit=1');
    return servedWebhookLog(api);
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return storedWebhookLog(await openStore(config));
  }
}

function servedWebhookLog(api: AdminApi): WebhookLog {
  return {
    async list({ app, instance, state, limit }) {
      const query = new URLSearchParams({ limit: String(limit) });
      if (app !== undefined) query.set('app', app);
      if (instance !== undefined) query.set('instance', instance);
      if (state !== undefined) query.set('state', state);
      const body = await api.ask('GET', `/webhooks?${query}`);
      return (body as { webhooks: readonly ShownWebhook[] }).webhooks;
    },
    async show(id) {
      const { status, body } = await api.request('GET', `/webhooks/${encodeURIComponent(id)}`);
      return status === 404 ? undefined : (body as ShownWebhookDetails);
    },
    async replay(id) {
      const { status } = await api.request('POST', `/webhooks/${encodeURIComponent(id)}/replay`);
      if (status === 404) return 'unknown';
      return status === 409 ? 'waiting' : 'replayed';
    },
    // Nothing stays open between two requests.
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/**
 * The log in a store, which it closes. What is replayed here is sent by the next server that starts, or within 30 s by a
 * running one.
 */
export function storedWebhookLog(database: Database): WebhookLog {
  const log = new StoredOutboxLog(database);
  return {
    async list({ state, limit, ...owner }) {
      return (await log.list({ ...ownedBy(owner), state, limit })).map(showWebhook);
    },
    async show(id) {
      const found = await log.show(id);
      return found === undefined ? undefined : showWebhookDetails(found, { seesPayloads: true });
    },
    async replay(id) {
      const replayed = await log.replay(id, Date.now());
      return typeof replayed === 'string' ? replayed : 'replayed';
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
