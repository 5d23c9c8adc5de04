import { openStoredWebhooks, type WebhookLog } from '../../admin/offline-webhooks.ts';
import type { Config } from '../../config/schema.ts';
import { AdminApi, NobodyThere } from '../admin-api.ts';
import { ownAdminPassword } from '../admin-password.ts';
import { ownAddress } from '../own-address.ts';

type Shown = Awaited<ReturnType<WebhookLog['list']>>;
type Details = Awaited<ReturnType<WebhookLog['show']>>;

/**
 * Opens the log of webhooks: through the server at `url`, or else through the one that the configuration
 * describes, or else, where that does not run, in the store.
 */
export async function openWebhookLog(config: Config, url: string | undefined): Promise<WebhookLog> {
  const password = ownAdminPassword(config);
  if (url !== undefined) return servedWebhooks(new AdminApi(url, password));
  // Without a port of its own, it cannot be known where that server is.
  if (config.admin.port === 0) return await openStoredWebhooks(config.store.url);
  const api = new AdminApi(ownAddress(config.admin, false), password);
  try {
    await api.ask('GET', '/webhooks?limit=1');
    return servedWebhooks(api);
  } catch (error) {
    if (!(error instanceof NobodyThere)) throw error;
    return await openStoredWebhooks(config.store.url);
  }
}

function servedWebhooks(api: AdminApi): WebhookLog {
  return {
    async list({ app, instance, state, limit }) {
      const query = new URLSearchParams({ limit: String(limit) });
      if (app !== undefined) query.set('app', app);
      if (instance !== undefined) query.set('instance', instance);
      if (state !== undefined) query.set('state', state);
      const { body } = await api.ask('GET', `/webhooks?${query}`);
      return (body as { webhooks: Shown }).webhooks;
    },
    async show(id) {
      const { status, body } = await api.ask('GET', `/webhooks/${encodeURIComponent(id)}`);
      return status === 404 ? undefined : (body as Details);
    },
    async replay(id) {
      const { status } = await api.ask('POST', `/webhooks/${encodeURIComponent(id)}/replay`);
      return status === 404 ? 'unknown' : status === 409 ? 'waiting' : 'replayed';
    },
    // Nothing stays open between two requests.
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
