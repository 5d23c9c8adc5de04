import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import type { PushService } from '../browsers/beams-page.ts';
import { type Fanfare, startFanfare } from './fanfare.ts';

/** The instance that every test server of push has. */
export const INSTANCE = {
  id: '0d1f8b7e-6a52-4c1e-9b5f-3f0c6a7d2e41',
  secretKey: 'A3F1C0D95B7E4286A3F1C0D95B7E4286A3F1C0D95B7E4286A3F1C0D95B7E4286',
} as const;

/** A real server with one instance, whose browsers may have any push service on this machine. */
export interface PushServer extends PushService, AsyncDisposable {
  /** What browsers subscribe with, URL-safe base64. */
  readonly vapidPublicKey: string;
  readonly server: Fanfare;
}

export async function startPushServer(): Promise<PushServer> {
  const settings = instanceSettings();
  const server = await startFanfare({ config: { push: pushSettings(settings) } });
  return {
    url: `http://127.0.0.1:${server.pushPort}`,
    instance: INSTANCE,
    server,
    vapidPublicKey: settings.web.vapid.publicKey,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

/** The settings `push` of a server that has these instances. */
export function pushSettings(...instances: readonly object[]): object {
  return { host: '127.0.0.1', port: 0, instances };
}

/** The settings of the instance. */
export function instanceSettings() {
  const { publicText: publicKey, privateText: privateKey } = newP256Pair();
  const { id, secretKey } = INSTANCE;
  return {
    id,
    name: 'test',
    secretKeys: [secretKey],
    web: {
      vapid: { publicKey, privateKey, subject: 'mailto:ops@example.org' },
      allowedHosts: ['localhost'],
      allowPrivateAddresses: true,
    },
  };
}
