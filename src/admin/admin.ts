import type { AskByName } from '../asking/asker.ts';
import type { LogFilter } from '../asking/facts/log.ts';
import type { ServerFacts } from '../asking/facts/servers.ts';
import type { Revocation } from '../channels/grants/revocations.ts';
import type { ExaminedKeySet } from '../channels/signatures/examine.ts';
import type { DayUsage } from '../channels/usage/usage.ts';
import type { Caller } from '../runtime/caller.ts';
import type { AuditStore } from '../stores/admin/audit-store.ts';
import type { AppAdmin } from '../tenants/manage-apps.ts';
import type { InstanceAdmin } from '../tenants/manage-instances.ts';
import type { LiveRevocations } from '../tenants/revocations.ts';
import type { StreamQuery } from '../watching/stream.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import type { Composing } from './push/composing.ts';
import type { DeviceAdmin } from './push/device-admin.ts';
import type { PublishAdmin } from './push/publish-admin.ts';
import type { Rights } from './rights.ts';
import type { StreamReader } from './stream-reader.ts';

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

/** What the operations work on. */
export interface Admin {
  readonly apps: AppAdmin;
  readonly instances: InstanceAdmin;
  /** What is revoked of the grants of apps. */
  readonly revocations: Pick<LiveRevocations, 'known' | 'page'> & {
    /** Settles when all loops of this server know it. Throws what the store throws. */
    revoke(revocation: Revocation): Promise<'revoked' | 'too-many' | 'not-shared'>;
  };
  readonly devices: DeviceAdmin;
  readonly publishes: PublishAdmin;
  readonly composing: Composing;
  /** Asks the realtime loops and all servers by the name of a question. What it throws refuses the request. */
  readonly ask: AskByName;
  /** The occupied channels that were most likely meant by these names. Not every name gets one. */
  near(appId: string, names: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Opens a live stream of an app: what happens from now on. Throws `OperationRefused` if there are too many. */
  watch(query: StreamQuery, reader: StreamReader): Promise<ReadableStream<Uint8Array>>;
  /** What this server is. */
  server(): ServerFacts;
  /**
   * Streams new lines of the log of this server, after the kept ones that follow `after`. Throws `OperationRefused` if there
   * are too many streams.
   */
  followLog(
    filter: LogFilter & { readonly after: number | undefined },
    reader: StreamReader,
  ): ReadableStream<Uint8Array>;
  readonly usage: {
    /** The newest day first. */
    ofApp(appId: string, days: number): Promise<readonly DayUsage[]>;
    /** The hours in which a server was running, the newest first. */
    hoursOfApp(appId: string, hours: number): Promise<readonly HourUsage[]>;
  };
  /** Fetches the key set of an app's issuer if it was not asked for just before. `undefined`: the app names none. */
  keySet(appId: string): Promise<ExaminedKeySet | undefined>;
  readonly webhooks: Pick<Webhooks, 'list' | 'show' | 'replay' | 'test'>;
  /** Who did what, the newest first. */
  readonly audit: Pick<AuditStore, 'list'>;
  /** What a caller may do; `undefined`: nothing. */
  rightsOf(caller: Caller): Rights | undefined;
  /** The description of the API itself. */
  readonly description: { readonly openapi: string };
}
