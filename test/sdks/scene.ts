import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { startFakeGateways } from '../../src/fake-gateways/start.ts';
import { Inbox } from '../../testing/inbox.ts';
import { ENCRYPTION_MASTER_KEY } from '../../testing/servers/app-backend.ts';
import { withWebhooks } from '../../testing/servers/app-with-webhooks.ts';
import { APP, startFanfare } from '../../testing/servers/fanfare.ts';
import { INSTANCE, pushSettings } from '../../testing/servers/push-server.ts';
import { startWebhookEndpoint } from '../../testing/servers/webhook-endpoint.ts';
import { Asks } from './asks.ts';

/** The host that libraries connect to whose host cannot be configured. */
export const HOSTED = `${INSTANCE.id}.pushnotifications.pusher.com`;

/** What a program is told. */
export interface Told {
  readonly app: typeof APP;
  /** Channels without TLS. */
  readonly port: number;
  /** Channels with TLS, on `localhost`: another server, where nobody else is. */
  readonly tlsPort: number;
  readonly encryptionMasterKeyBase64: string;
  readonly instance: typeof INSTANCE;
  /** Push with TLS, on `localhost`. */
  readonly pushPort: number;
  /** The certificate of the servers with TLS, the only authority to trust. */
  readonly caFile: string;
  /** Answers what a program asks for: a POST of JSON. */
  readonly asksUrl: string;
}

/** Servers for one program: Channels without TLS, which soon pings quiet clients, and push and Channels with TLS. */
export interface Scene extends AsyncDisposable {
  readonly told: Told;
}

export async function startScene(folder: string): Promise<Scene> {
  await using parts = new AsyncDisposableStack();
  const webhooks = parts.use(startWebhookEndpoint());
  const channels = parts.use(
    await startFanfare({
      // In a batch, pusher-http-go 5.1.1 would also meet an event of an encrypted channel, which it cannot read.
      app: {
        ...withWebhooks([{ url: webhooks.url, batching: false }]),
        grants: { leewaySeconds: 0 },
      },
      channels: { activityTimeoutSeconds: 2, pongTimeoutSeconds: 4 },
      config: { webhooks: { allowPrivateAddresses: true } },
    }),
  );

  const arrived = new Map<string, Inbox<unknown>>();
  const arrivedAt = (token: string) => {
    const inbox = arrived.get(token) ?? new Inbox<unknown>(`The device ${token}`);
    arrived.set(token, inbox);
    return inbox;
  };
  const gateways = parts.use(
    await startFakeGateways({
      host: '127.0.0.1',
      ports: { control: 0, apns: 0, fcm: 0, web: 0 },
      directory: join(folder, 'gateways'),
      onReceived: ({ to, message }) => arrivedAt(to).put(message),
    }),
  );
  const { cert, key } = makeSelfSigned(['localhost', '127.0.0.1', HOSTED], Date.now());
  const tls = { certFile: join(folder, 'ca.pem'), keyFile: join(folder, 'key.pem') };
  writeFileSync(tls.certFile, cert);
  writeFileSync(tls.keyFile, key);
  const instance = { id: INSTANCE.id, secretKeys: [INSTANCE.secretKey], ...gateways.settings };
  const push = parts.use(await startFanfare({ config: { push: pushSettings(instance), tls } }));

  const { port } = channels;
  const { pushPort } = push;
  const asks = parts.use(new Asks({ port, pushPort, appKey: APP.key, webhooks, arrivedAt }));
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { ask = '', ...given } = JSON.parse(await request.text());
      try {
        return Response.json(await asks.answer(ask, given));
      } catch (error) {
        return Response.json({ error: String(error) }, { status: 500 });
      }
    },
  });
  parts.defer(() => http.stop(true));
  const running = parts.move();
  return {
    told: {
      app: APP,
      port,
      tlsPort: push.port,
      encryptionMasterKeyBase64: ENCRYPTION_MASTER_KEY,
      instance: INSTANCE,
      pushPort,
      caFile: tls.certFile,
      asksUrl: `http://127.0.0.1:${http.port}/`,
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
