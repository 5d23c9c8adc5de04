import type { DayUsage } from '../channels/usage/usage.ts';
import type { UsedKey } from '../runtime/keys/key-uses.ts';
import type { AuditStore } from '../stores/admin/audit-store.ts';
import type { AppAdmin } from '../tenants/manage-apps.ts';
import type { InstanceAdmin } from '../tenants/manage-instances.ts';
import type { StreamQuery } from '../watching/stream.ts';
import type { EndpointHealth } from '../webhooks/sending/endpoint-health.ts';
import type { WaitingFor, Webhooks } from '../webhooks/webhooks.ts';
import type { Inspecting, OfAllServers } from './channels/inspecting.ts';
import type { ServerLog } from './log/server-log.ts';
import type { Monitoring } from './monitoring/monitoring.ts';
import type { Composing } from './push/composing.ts';
import type { DeviceAdmin } from './push/device-admin.ts';
import type { PublishAdmin } from './push/publish-admin.ts';
import type { Caller, Rights } from './rights.ts';
import type { StreamReader } from './stream-reader.ts';

/** What one app does now, on all servers. */
export interface AppActivity {
  readonly appId: string;
  readonly connections: number;
  /** Occupied channels. */
  readonly channels: number;
  /** Messages of today, UTC, including those that clients caused. */
  readonly messages: number;
  readonly clientMessages: number;
}

/** What one server has of one app. */
export interface ServerApp {
  readonly appId: string;
  readonly connections: number;
}

/** One of the servers that act as one. */
export interface ServerActivity {
  /** Host and port. */
  readonly name: string;
  /** The apps that have connections there. */
  readonly apps: readonly ServerApp[];
}

/** What happens now, on all servers. */
export interface LiveFigures {
  readonly apps: readonly AppActivity[];
  readonly servers: readonly ServerActivity[];
}

/** One occupied channel. `users` counts the members of a presence channel. */
export interface ChannelActivity {
  readonly name: string;
  readonly subscriptions: number;
  readonly users: number;
}

/** One page of occupied channels. `next` continues the list; `undefined` at the end. */
export interface ChannelPage {
  readonly channels: readonly ChannelActivity[];
  readonly next: string | undefined;
}

export interface ChannelQuery {
  readonly appId: string;
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/** An event that an operator sends. */
export interface OperatorEvent {
  readonly appId: string;
  readonly name: string;
  readonly channels: readonly string[];
  readonly data: string;
  readonly socketId?: string | undefined;
}

/** A channel that an event was sent to. */
export interface ReachedChannel {
  readonly name: string;
  /** Connections that were subscribed, on all servers. */
  readonly receivers: number;
}

/** What an app did in one hour. */
export interface HourUsage {
  /** Milliseconds since 1970. */
  readonly startMs: number;
  /** All messages. */
  readonly messages: number;
  /** The part of `messages` that clients caused. */
  readonly clientMessages: number;
  /** `undefined`: they could not be counted. */
  readonly connections:
    | { readonly most: number; readonly fewest: number; readonly average: number }
    | undefined;
}

/** An address of webhooks, and the servers that have tried it. */
export type TriedEndpoint = Omit<EndpointHealth, 'lastAnswer'> &
  WaitingFor & { readonly servers: readonly string[] };

/** What the operations work on. */
export interface Admin {
  readonly apps: AppAdmin;
  readonly instances: InstanceAdmin;
  readonly devices: DeviceAdmin;
  readonly publishes: PublishAdmin;
  readonly composing: Composing;
  /** Throws `OperationRefused` if a realtime loop or the engine does not answer. */
  readonly live: {
    figures(): Promise<LiveFigures>;
    /** May return fewer channels than `limit` although there are more. */
    channels(query: ChannelQuery): Promise<ChannelPage>;
    /** Also throws `OperationRefused` if the event breaks a rule, or the app is over a limit. */
    send(event: OperatorEvent): Promise<readonly ReachedChannel[]>;
    /** The occupied channels that were most likely meant by these names. Not every name gets one. */
    near(appId: string, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  };
  /** Opens a live stream of an app: what happens from now on. Throws `OperationRefused` if there are too many. */
  watch(query: StreamQuery, reader: StreamReader): Promise<ReadableStream<Uint8Array>>;
  readonly inspect: Inspecting;
  /** When the keys of an app or instance were last used, on all servers. Throws like `inspect`. */
  keyUses(tenant: { readonly kind: 'app' | 'instance'; readonly id: string }): Promise<
    OfAllServers & {
      /** Since when it is known: the latest start of a server. */
      readonly sinceMs: number;
      readonly keys: readonly UsedKey[];
    }
  >;
  readonly monitoring: Monitoring;
  readonly serverLog: ServerLog;
  readonly usage: {
    /** The newest day first. */
    ofApp(appId: string, days: number): Promise<readonly DayUsage[]>;
    /** The hours in which a server was running, the newest first. */
    hoursOfApp(appId: string, hours: number): Promise<readonly HourUsage[]>;
  };
  readonly webhooks: Pick<Webhooks, 'list' | 'show' | 'replay' | 'test'> & {
    /** How each address has answered, on all servers; `undefined`: of all owners. */
    endpoints(
      ownerId: string | undefined,
    ): Promise<OfAllServers & { readonly endpoints: readonly TriedEndpoint[] }>;
  };
  /** Who did what, the newest first. */
  readonly audit: Pick<AuditStore, 'list'>;
  /** What a caller may do; `undefined`: nothing. */
  rightsOf(caller: Caller): Rights | undefined;
  /** The description of the API itself. */
  readonly description: { readonly openapi: string };
}
