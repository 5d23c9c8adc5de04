import type { Config } from '../config/schema.ts';
import { openStoredWebhooks, type WebhookLog } from '../stored-webhooks.ts';
import { AdminApi, NobodyThere } from './admin-api.ts';

type Shown = Awaited<ReturnType<WebhookLog['list']>>;
type Details = Awaited<ReturnType<WebhookLog['show']>>;

/**
 * Opens the log of webhooks: through the server at `url`, or else through the one that the configuration
 * describes, or else, where that does not run, in the store.
 */
export async function openWebhookLog(config: Config, url: string | undefined): Promise<WebhookLog> {
  const { password } = config.admin;
  if (url !== undefined) return servedWebhooks(new AdminApi(url.replace(/\/+$/, ''), password));
  // Without a port of its own, it cannot be known where that server is.
  if (config.admin.port === 0) return await openStoredWebhooks(config.store.url);
  const api = new AdminApi(addressOf(config), password);
  try {
    await api.ask('GET', '/webhooks?limit=1');
    return servedWebhooks(api);
  } catch (error) {
    if (!(error instanceof NobodyThere)) throw error;
    return await openStoredWebhooks(config.store.url);
  }
}

/** Where a server with this configuration is reached from its own machine. */
function addressOf({ admin: { host, port } }: Config): string {
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
}

function servedWebhooks(api: AdminApi): WebhookLog {
  return {
    async list({ app, state, limit }) {
      const query = new URLSearchParams({ limit: String(limit) });
      if (app !== undefined) query.set('app', app);
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
