import type { App } from '../channels/app.ts';
import type { InstanceSettings } from '../config/schema.ts';

/** Where a tenant is kept. What stands in the configuration is changed there. */
export type TenantSource = 'configuration' | 'store';

/** An app of this server, and where it is kept. */
export interface KeptApp {
  readonly app: App;
  readonly source: TenantSource;
}

/** An instance of this server, and where it is kept. */
export interface KeptInstance {
  readonly instance: InstanceSettings;
  readonly source: TenantSource;
}
