import { ownAddress } from '../own-address.ts';
import type { WelcomeServer } from './welcome.ts';

/** What `serve --json` prints for programs when the server listens. Addresses are as this machine reaches them. */
export function started(
  server: WelcomeServer,
  { showsSecrets }: { readonly showsSecrets: boolean },
): object {
  const { channels, push, admin, apps, instances } = server;
  const app = apps.find(({ id }) => id === server.createdApp) ?? apps[0];
  const instance = instances.find(({ id }) => id === server.createdInstance) ?? instances[0];
  const [pair] = app?.keys ?? [];
  return {
    channels: ownAddress(channels),
    push: ownAddress(push),
    admin: ownAddress(admin),
    app:
      app === undefined || pair === undefined
        ? null
        : { id: app.id, key: pair.key, ...(showsSecrets ? { secret: pair.secret } : {}) },
    instance:
      instance === undefined
        ? null
        : { id: instance.id, ...(showsSecrets ? { secretKey: instance.secretKeys[0] } : {}) },
  };
}
