import type { DayUsage } from '../channels/usage.ts';
import type { AppAdmin } from '../tenants/manage-apps.ts';
import type { InstanceAdmin } from '../tenants/manage-instances.ts';
import type { OutboxEntry, OutboxEntryDetails, OutboxFilter } from '../webhooks/outbox.ts';
import type { DeviceAdmin } from './device-admin.ts';

/** What one app does now. */
interface LiveApp {
  readonly appId: string;
  readonly connections: number;
  readonly channels: number;
  /** Today, UTC: all, and those of them that clients caused. */
  readonly messages: number;
  readonly clientMessages: number;
}

interface LiveChannel {
  readonly name: string;
  readonly subscriptions: number;
  readonly users: number;
}

/** Some occupied channels; `next`: where to go on, `undefined` at the end. */
interface LiveChannelPage {
  readonly channels: readonly LiveChannel[];
  readonly next: string | undefined;
}

interface LiveChannelQuery {
  readonly appId: string;
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/** What the operations work on. */
export interface Admin {
  readonly apps: AppAdmin;
  readonly instances: InstanceAdmin;
  readonly devices: DeviceAdmin;
  /** Throws `OperationRefused` where the loop that knows does not answer. */
  readonly live: {
    apps(): Promise<readonly LiveApp[]>;
    /** May give fewer than asked for although there are more. */
    channels(query: LiveChannelQuery): Promise<LiveChannelPage>;
  };
  readonly usage: {
    /** The newest day first. */
    ofApp(appId: string, days: number): Promise<readonly DayUsage[]>;
  };
  readonly webhooks: {
    list(filter: OutboxFilter): Promise<readonly OutboxEntry[]>;
    show(id: string): Promise<OutboxEntryDetails | undefined>;
    replay(id: string): Promise<'replayed' | 'waiting' | 'unknown'>;
  };
  /** The description of the API itself. */
  readonly description: { readonly openapi: string };
}
