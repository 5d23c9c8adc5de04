import type { AdminServer } from '../../testing/clients/admin-api.ts';
import { admin } from '../../testing/clients/admin-api.ts';
import { eventually } from '../../testing/eventually.ts';

/** An endpoint on 127.0.0.1 that keeps the bodies that it gets. */
export interface WebhookEndpoint extends AsyncDisposable {
  /** The webhook setting of an app that sends to this endpoint. */
  readonly webhook: object;
  readonly url: string;
  readonly bodies: readonly string[];
  /** Sets the status of its answers, which is 200 at first. */
  answerWith(status: number): void;
}

export function startWebhookEndpoint(): WebhookEndpoint {
  const bodies: string[] = [];
  let status = 200;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      bodies.push(await request.text());
      return new Response('an answer', { status });
    },
  });
  const url = `${server.url.origin}/hook`;
  return {
    webhook: { url, events: ['channel_occupied', 'channel_vacated'] },
    url,
    bodies,
    answerWith(given) {
      status = given;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

export interface ListedWebhook {
  readonly id: string;
  readonly app: string;
  readonly state: string;
  readonly attempts: number;
}

/** Waits until this many webhooks match the query, and gives them. The outbox is written four times a second. */
export async function webhooksOf(
  server: AdminServer,
  query: string,
  count: number,
): Promise<readonly ListedWebhook[]> {
  const list = async () => {
    const { status, json, text } = await admin(server, 'GET', `/webhooks?${query}`);
    if (status !== 200) throw new Error(text);
    return (json as { webhooks: ListedWebhook[] }).webhooks;
  };
  return await eventually(list, ({ length }) => length === count);
}
