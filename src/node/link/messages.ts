import type { AppActivity, ChannelPage, ChannelQuery } from '../../admin/admin.ts';
import type { App } from '../../channels/app.ts';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { DayUsage } from '../../channels/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { MetricValues } from '../../observability/meter.ts';
import type { PushInstance } from '../../push/model/instance.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type { ChangedIds } from '../../tenants/changed-ids.ts';
import type { StartFault } from '../start-failed.ts';

/*
 * The messages between the two loops. Everything is copied, except for the port of the log, which is transferred.
 */

/** The address of a listener. */
export interface ListenerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** Where the password of the admin API comes from: `admin.password`, or a file that the server has made. */
export type AdminPasswordSource = 'configuration' | 'file';

export type RealtimeState = 'starting' | 'listening' | 'stopping';

/** The questions of the background loop to the realtime loop, with their answers. */
export interface Questions {
  metrics: { ask: Record<never, never>; answer: MetricValues };
  'live-apps': { ask: Record<never, never>; answer: readonly AppActivity[] };
  'live-channels': { ask: ChannelQuery; answer: ChannelPage };
  /** Answered after all earlier messages have been handled. */
  ping: { ask: Record<never, never>; answer: 'pong' };
}

export type Question = {
  [What in keyof Questions]: { readonly what: What } & Questions[What]['ask'];
}[keyof Questions];

/** From the main thread to the worker. */
export type ToBackground =
  | {
      readonly type: 'start';
      readonly config: Config;
      readonly logFormat: 'json' | 'text';
      /** Leads to the log thread. */
      readonly logPort: MessagePort;
      /** For the push listener; `undefined` for plain HTTP. */
      readonly tls: Certificate | undefined;
    }
  | { readonly type: 'realtime'; readonly state: RealtimeState }
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  | { readonly type: 'usage'; readonly usage: readonly DayUsage[] }
  /** The configuration was read again. */
  | {
      readonly type: 'reload';
      readonly config: Config;
      readonly tls: Certificate | undefined;
    }
  | { readonly type: 'webhook-events'; readonly events: readonly AppWebhookEvent[] }
  | { readonly type: 'stop' };

/** From the worker to the main thread. */
export type ToRealtime =
  | {
      readonly type: 'ready';
      readonly apps: readonly App[];
      readonly admin: ListenerAddress;
      readonly adminPassword: AdminPasswordSource;
      readonly push: ListenerAddress;
      /** The id of the app that was created because there was none. */
      readonly createdApp: string | undefined;
      readonly instances: readonly PushInstance[];
      /** The id of the instance that was created because there was none. */
      readonly createdInstance: string | undefined;
      /** The usage of today before this start. */
      readonly usage: readonly DayUsage[];
    }
  | { readonly type: 'failed'; readonly fault: StartFault }
  | { readonly type: 'apps'; readonly apps: readonly App[]; readonly changes: ChangedIds }
  | { readonly type: 'ask'; readonly number: number; readonly question: Question }
  /** The background loop has taken over this many webhook events. */
  | { readonly type: 'webhook-events-taken'; readonly events: number }
  /** The push listener has this many connections now. */
  | { readonly type: 'push-connections'; readonly open: number }
  | { readonly type: 'stopped' };
