import type { App } from '../api/answers.ts';
import { call } from '../api/client.ts';
import { appOfPage } from '../routing/router.ts';
import { ShownTenants } from './tenants.ts';

export const knownApps = new ShownTenants<App>({
  ask: async () => (await call('GET /apps')).apps,
  ofPage: appOfPage,
  keptAs: 'fanfare.app',
});

/** The apps that the user may see; `undefined` until the server answered. */
export const apps = knownApps.all;

/** The app that the navigation is about. */
export const currentApp = knownApps.current;

export const askApps = () => knownApps.ask();

/** What the user calls the app with this id. */
export const nameOfId = (id: string) => knownApps.nameOfId(id);
