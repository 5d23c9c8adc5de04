import { type Answer, call } from '../api/client.ts';
import { instanceOfPage } from '../routing/router.ts';
import { ShownTenants } from './tenants.ts';

export type ShownInstance = Answer<'GET /instances'>['instances'][number];

/** The push instances that the user may see, and the one that the navigation is about. */
export const instances = new ShownTenants<ShownInstance>({
  ask: async () => (await call('GET /instances')).instances,
  ofPage: instanceOfPage,
  keptAs: 'fanfare.instance',
});
