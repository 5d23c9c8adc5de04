import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeGateways, startFakeGateways } from '../../src/fake-gateways/start.ts';
import { Inbox } from '../../testing/inbox.ts';
import {
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../testing/servers/webhook-endpoint.ts';
import type { Places } from './stored-release.ts';

/** What stands beside a server: gateways, and the endpoint of its webhooks. */
export interface Around extends AsyncDisposable {
  readonly gateways: FakeGateways;
  readonly endpoint: WebhookEndpoint;
  /** Where they are. A store names these places. */
  readonly places: Places;
  /** Tokens of devices that gateways were asked to notify, in this order. */
  readonly arrived: Inbox<string>;
}

export async function startAround(): Promise<Around> {
  await using parts = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'fanfare-upgrade-'));
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  const arrived = new Inbox<string>('The gateways');
  const gateways = parts.use(
    await startFakeGateways({
      host: '127.0.0.1',
      ports: { control: 0, apns: 0, fcm: 0, web: 0 },
      directory: folder,
      onReceived: ({ to }) => arrived.put(to ?? ''),
    }),
  );
  const endpoint = parts.use(startWebhookEndpoint());
  const { apns, fcm } = gateways.settings;
  const places = {
    folder,
    apns: apns['origin'] ?? '',
    fcm: fcm['origin'] ?? '',
    endpoint: new URL(endpoint.url).origin,
  };
  const running = parts.move();
  return {
    gateways,
    endpoint,
    places,
    arrived,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
