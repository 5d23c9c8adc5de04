import type { Instance } from '../api/answers.ts';
import { call } from '../api/client.ts';
import { instanceOfPage } from '../routing/router.ts';
import { ShownTenants } from './tenants.ts';

/** The push instances that the user may see, and the one that the navigation is about. */
export const instances = new ShownTenants<Instance>({
  ask: async () => (await call('GET /instances')).instances,
  ofPage: instanceOfPage,
  keptAs: 'fanfare.instance',
});
