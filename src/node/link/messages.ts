import type { LoopAsk } from '../../asking/questions.ts';
import type { App, KeySet } from '../../channels/app.ts';
import type { Revocation } from '../../channels/grants/revocations.ts';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { AskMessage } from '../../channels/live/ask.ts';
import type { RuleEvent } from '../../channels/push-rules/push-rule.ts';
import type { TakenUsage } from '../../channels/usage/unshared-usage.ts';
import type { DayUsage } from '../../channels/usage/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { RedisLogins, RedisTls } from '../../engines/redis/link/connector.ts';
import type { LoopNotice } from '../../engines/redis/loop-bus.ts';
import type { RedisLinkMessage } from '../../engines/redis/shared/messages.ts';
import type { EngineMessage } from '../../engines/threads/messages.ts';
import type { KeptLine } from '../../observability/log.ts';
import type { PushInstance } from '../../push/model/instance.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import type { TenantChange } from '../../tenants/live-tenants.ts';
import type { RevocationChange } from '../../tenants/revocations.ts';
import type { EngineAway } from '../../transports/admin/readiness.ts';
import type { SessionLinkMessage } from '../../transports/http-fallback/homes/session-links.ts';
import type {
  ForwardedAnswer,
  ForwardedRequest,
} from '../../transports/push-api/shared-port/forwarded-request.ts';
import type { AppTick, WatchedApp } from '../../watching/records.ts';
import type { MemoryPlan } from '../memory/shares.ts';
import type { StartFault } from '../start-failed.ts';
import type { TlsFiles } from '../tls-files.ts';
import type { LoopTotals } from './loop-totals.ts';
import type { StoredOutcome } from './revocation-relay.ts';

/*
 * The messages between the loops. Everything is copied, except for ports, which are transferred.
 */

/** The address of a listener. */
export interface ListenerAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** Where the admin API's password comes from: `admin.password`, or a file that the server created. */
export type AdminPasswordSource = 'configuration' | 'file';

/** `draining`: the stop delay is over, and connections are being closed. */
export type RealtimeState = 'starting' | 'listening' | 'stopping' | 'draining';

/** The ports from one realtime loop to all others, by loop number. Its own place is empty. */
export type LoopPorts = readonly (MessagePort | undefined)[];

/** From one realtime loop to another. */
export type LoopMessage =
  /** A message between the engines of two loops. Only these messages are arrays. */
  | EngineMessage
  | RedisLinkMessage
  /** Messages of streams of Redis; see `stream-texts.ts`. */
  | string
  | UsageMessage
  | SessionLinkMessage
  | LiveAskMessage;

/** About an ask of this loop or the other one. */
export interface LiveAskMessage {
  readonly type: 'live-ask';
  readonly message: AskMessage;
  /** A part of the report of this process to another loop. */
  readonly partTo?: string;
}

/** What the loop has taken from quotas and rates since its last message. */
export interface UsageMessage {
  readonly type: 'usage';
  readonly taken: readonly TakenUsage[];
}

/** What a message is about, for logs. */
export function kindOf(message: LoopMessage): string {
  if (typeof message === 'string') return 'stream';
  return isOfEngine(message) ? message[0] : message.type;
}

export function isOfEngine(message: LoopMessage): message is EngineMessage {
  return Array.isArray(message);
}

/** From a realtime loop to the background loop. */
export type LoopToBackground =
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  /** The question has no answer; `why` is for the operator. */
  | { readonly type: 'no-answer'; readonly number: number; readonly why: string }
  /** The loop has sent everything. The reply is `goodbye`. */
  | { readonly type: 'goodbye' }
  /** Since when, and why, the loop's engine cannot be used; `undefined`: it works. */
  | { readonly type: 'engine'; readonly away: EngineAway | undefined }
  | { readonly type: 'usage'; readonly usage: readonly DayUsage[] }
  /** Log lines of the loop. */
  | { readonly type: 'logged'; readonly lines: readonly KeptLine[] }
  /** Events of watched apps. */
  | { readonly type: 'tapped'; readonly ticks: readonly AppTick[] }
  /** A notice came from a loop of another server. */
  | { readonly type: 'cluster-received'; readonly notice: LoopNotice }
  /** A notice was sent to a loop of another server; `isReceived`: the loop exists. */
  | { readonly type: 'cluster-sent'; readonly to: string; readonly isReceived: boolean }
  /** A request to push came to the port of Channels. */
  | { readonly type: 'push-request'; readonly request: ForwardedRequest }
  | { readonly type: 'webhook-events'; readonly events: readonly AppWebhookEvent[] }
  /** An event that matches a push rule of its app. */
  | { readonly type: 'rule-event'; readonly event: RuleEvent }
  /** A backend revokes grants. The answer, `revoke-answered`, has the same number. */
  | { readonly type: 'revoke'; readonly number: number; readonly revocation: Revocation }
  /** Clients present tokens that the key set of the issuer may explain. The reply is `key-set`. */
  | {
      readonly type: 'key-set-wanted';
      readonly appId: string;
      /** The version that the loop has: a later one may be on its way to it. */
      readonly known: number | undefined;
    }
  /** The server stops. These are the histories that the next start needs. */
  | { readonly type: 'histories'; readonly saved: Uint8Array };

/** Why a key set is reported: `asked` and `shared` answer a `key-set-wanted`: it is `shared` if it caused no fetch. */
export type KeySetCause = 'changed' | 'asked' | 'shared';

/** From the background loop to a realtime loop. */
export type BackgroundToLoop =
  | { readonly type: 'apps'; readonly apps: readonly App[]; readonly change: TenantChange }
  | { readonly type: 'revocations'; readonly change: RevocationChange }
  | { readonly type: 'revoke-answered'; readonly number: number; readonly outcome: StoredOutcome }
  | { readonly type: 'ask'; readonly number: number; readonly question: LoopAsk }
  /** The background loop has received this many webhook events. */
  | { readonly type: 'webhook-events-taken'; readonly events: number }
  /** Webhook events of this loop were stored, or were dropped. */
  | { readonly type: 'webhook-events-over'; readonly ids: readonly string[] }
  /** An event that matched a push rule was handled. `dataLength`: characters of its data. */
  | { readonly type: 'rule-event-done'; readonly appId: string; readonly dataLength: number }
  /** The key set of an app's issuer. */
  | {
      readonly type: 'key-set';
      readonly appId: string;
      readonly keySet: KeySet | undefined;
      readonly cause: KeySetCause;
    }
  /** The present number of connections to the push listener. */
  | { readonly type: 'push-connections'; readonly open: number }
  /** Whether this server can do its work now, for health checks. */
  | { readonly type: 'readiness'; readonly isReady: boolean }
  /** The answer to a request to push that came to the port of Channels. */
  | { readonly type: 'push-answer'; readonly answer: ForwardedAnswer }
  /** What to watch from now on. */
  | { readonly type: 'watch'; readonly apps: readonly WatchedApp[] }
  /** Sends a notice to a loop of another server, or to one loop of each server. */
  | { readonly type: 'cluster-send'; readonly to: string | undefined; readonly text: string }
  /** What the next connections to Redis use for TLS. */
  | { readonly type: 'redis-tls'; readonly tls: RedisTls }
  /** What they log in with. */
  | { readonly type: 'redis-logins'; readonly logins: RedisLogins }
  /** The reply to `goodbye`: the background loop has received everything. */
  | { readonly type: 'goodbye' };

/** From the main thread to the background thread. */
export type ToBackground =
  | {
      readonly type: 'start';
      readonly config: Config;
      readonly memory: MemoryPlan;
      readonly logFormat: 'json' | 'text';
      /** The port to the log thread. */
      readonly logPort: MessagePort;
      /** The ports to the realtime loops that do not run on the main thread, in loop order. */
      readonly loopPorts: readonly MessagePort[];
      readonly tlsFiles: TlsFiles;
    }
  /** `channels` is the address of the channels listener. */
  | {
      readonly type: 'realtime';
      readonly state: RealtimeState;
      readonly channels?: ListenerAddress;
    }
  /** The configuration was read again. */
  | {
      readonly type: 'reload';
      /** The answer has the same number. */
      readonly number: number;
      readonly config: Config;
      readonly tlsFiles: TlsFiles;
    }
  | { readonly type: 'stop' }
  | LoopToBackground;

/** From the background thread to the main thread. */
export type FromBackground =
  | {
      readonly type: 'ready';
      readonly apps: readonly App[];
      readonly revocations: readonly Revocation[];
      readonly admin: ListenerAddress;
      readonly adminPassword: AdminPasswordSource;
      /** Makes a link that logs in to the dashboard once; `undefined` if there is none. */
      readonly logInToken: string | undefined;
      readonly push: ListenerAddress;
      /** The id of the app that was created because there was none. */
      readonly createdApp: string | undefined;
      readonly instances: readonly PushInstance[];
      /** The id of the instance that was created because there was none. */
      readonly createdInstance: string | undefined;
      /** Today's usage before this start. */
      readonly usage: readonly DayUsage[];
      /** The certificate of both public listeners; `undefined` for plain HTTP. */
      readonly tls: Certificate | undefined;
    }
  | { readonly type: 'failed'; readonly fault: StartFault }
  /** The histories that the last stop saved. Comes before "ready". */
  | { readonly type: 'saved-histories'; readonly saved: SharedArrayBuffer }
  /** A new certificate for the channels listener. */
  | { readonly type: 'certificate'; readonly tls: Certificate }
  /** The readiness check now reports that clients can connect. */
  | { readonly type: 'listening-noted' }
  /** All loops serve a reloaded configuration. */
  | { readonly type: 'reloaded'; readonly number: number }
  | { readonly type: 'stopped' }
  | BackgroundToLoop;

/** What a realtime loop begins with. It may be large, so nobody keeps it. */
export interface InitialState {
  readonly apps: readonly App[];
  readonly revocations: readonly Revocation[];
  /** Today's usage before this start. */
  readonly usage: readonly DayUsage[];
  /** The histories that the last stop saved, of all loops. A loop takes those of its own channels. */
  readonly histories: SharedArrayBuffer | undefined;
}

/** What a realtime thread needs to open its loop. */
export interface RealtimeStart {
  readonly config: Config;
  readonly memory: MemoryPlan;
  /** The number of this loop among the realtime loops. */
  readonly index: number;
  readonly logFormat: 'json' | 'text';
  /** The port to the log thread. */
  readonly logPort: MessagePort;
  /** The port to the background loop. */
  readonly backgroundPort: MessagePort;
  /** The ports to the other realtime loops. */
  readonly loopPorts: LoopPorts;
  readonly serverName: string;
  /** The memory of `LoopCounts`. */
  readonly counts: SharedArrayBuffer;
  /** The memory of what all loops count together. */
  readonly countedTogether: LoopTotals;
  readonly initial: InitialState;
  /** For the channels listener; `undefined` for plain HTTP. */
  readonly tls: Certificate | undefined;
  readonly redisTls: RedisTls;
}

/** Commands from the main thread to a realtime thread. The replies, `done` or `failed`, come in the same order. */
export type ToRealtimeThread =
  | ({ readonly type: 'open' } & RealtimeStart)
  | { readonly type: 'connect' }
  | { readonly type: 'listen'; readonly port: number }
  | { readonly type: 'certificate'; readonly tls: Certificate }
  | { readonly type: 'drain' }
  | { readonly type: 'retire' }
  | { readonly type: 'dismiss' }
  | { readonly type: 'stop-listening' }
  | { readonly type: 'depart'; readonly maxMs: number }
  | { readonly type: 'close' };

/** From a realtime thread to the main thread. */
export type FromRealtimeThread =
  /** The thread can receive messages. Earlier messages would be lost. */
  | { readonly type: 'up' }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly fault: StartFault }
  /** An error that nothing caught. The server must stop. */
  | { readonly type: 'died'; readonly why: string };
