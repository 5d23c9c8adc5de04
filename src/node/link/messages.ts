import type { ChannelPage, ChannelQuery, LiveFigures, ReachedChannel } from '../../admin/admin.ts';
import type { App } from '../../channels/app.ts';
import type { HistoryPage, HistoryQuery } from '../../channels/history/page.ts';
import type { AppWebhookEvent } from '../../channels/lifecycle/webhook-event.ts';
import type { AskReport, LiveAnswer, LiveEvent } from '../../channels/live/ask.ts';
import type { CachedEvent, ChannelCounts, Member } from '../../channels/ports.ts';
import type { ProblemGroup } from '../../channels/problem-book.ts';
import type { RuleEvent } from '../../channels/push-rules/push-rule.ts';
import type { TakenUsage } from '../../channels/usage/unshared-usage.ts';
import type { DayUsage } from '../../channels/usage/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { LoopWord } from '../../engines/redis/loop-bus.ts';
import type { EngineMessage } from '../../engines/threads/messages.ts';
import type { KeptLine } from '../../observability/log.ts';
import type { MetricValues } from '../../observability/meter.ts';
import type { PushInstance } from '../../push/model/instance.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type { ChangedIds } from '../../tenants/changed-ids.ts';
import type { EngineAway } from '../../transports/admin/readiness.ts';
import type { ApiProblem } from '../../transports/channels-api/problems.ts';
import type {
  ConnectionPage,
  ConnectionQuery,
  InspectedDetails,
} from '../../transports/clients/inspector.ts';
import type { SessionMessage } from '../../transports/http-fallback/session-messages.ts';
import type { AppTick, WatchedApp } from '../../watching/records.ts';
import type { StartFault } from '../start-failed.ts';
import type { LoopTotals } from './loop-totals.ts';

/*
 * The messages between the loops. Everything is copied, except for ports, which are transferred.
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

/** What is known of one channel, on all servers. */
export interface ChannelState {
  readonly counts: ChannelCounts;
  /** In the order in which they joined. */
  readonly members: readonly Member[];
  readonly cached: CachedEvent | undefined;
}

/** To which channels an event was sent, or why it was refused. */
export type SendAnswer =
  | { readonly channels: readonly ReachedChannel[] }
  | { readonly refused: ApiProblem; readonly why: string };

/** The questions of the background loop to a realtime loop, with their answers. */
export interface Questions {
  metrics: { ask: Record<never, never>; answer: MetricValues };
  /** The loop states to the engine what other servers do not know yet of its figures. */
  'share-figures': { ask: Record<never, never>; answer: 'shared' };
  /** The figures of all loops add up. */
  'live-figures': { ask: Record<never, never>; answer: LiveFigures };
  /** The open connections of each app that has any. Those of all loops add up. */
  'open-connections': {
    ask: Record<never, never>;
    answer: readonly (readonly [appId: string, open: number])[];
  };
  'live-channels': { ask: ChannelQuery; answer: ChannelPage };
  /** Triggers an event; `json` is the body of `POST /events`. */
  send: { ask: { readonly appId: string; readonly json: string }; answer: SendAnswer };
  /** Sends an event to users, and asks their connections whether they have it. */
  'ask-live': { ask: { readonly appId: string; readonly event: LiveEvent }; answer: LiveAnswer };
  problems: { ask: { readonly appId: string }; answer: readonly ProblemGroup[] };
  'inspect-channel': {
    ask: { readonly appId: string; readonly channel: string };
    answer: ChannelState;
  };
  'read-history': {
    ask: { readonly appId: string; readonly channel: string; readonly query: HistoryQuery };
    answer: HistoryPage;
  };
  'forget-history': {
    ask: { readonly appId: string; readonly channel: string };
    answer: 'forgotten';
  };
  /** `undefined`: the walk is not known any more. */
  'find-connections': {
    ask: { readonly appId: string } & ConnectionQuery;
    answer: ConnectionPage | undefined;
  };
  'inspect-connection': {
    ask: { readonly appId: string; readonly socketId: string };
    answer: InspectedDetails | undefined;
  };
  /** Whether there was such a connection. */
  'end-connection': {
    ask: { readonly appId: string; readonly socketId: string };
    answer: boolean;
  };
  /**
   * Says something to a loop of another server, or to one loop of each (`to` is `undefined`). The answer: how many were there
   * to hear it; `undefined` while that cannot be known.
   */
  'tell-servers': {
    ask: { readonly to: string | undefined; readonly text: string };
    answer: number | undefined;
  };
  /** Answered after all earlier messages have been handled. */
  ping: { ask: Record<never, never>; answer: 'pong' };
}

export type Question = {
  [What in keyof Questions]: { readonly what: What } & Questions[What]['ask'];
}[keyof Questions];

/** The ports of one realtime loop to all loops, by their numbers. Its own place is empty. */
export type LoopPorts = readonly (MessagePort | undefined)[];

/** From a realtime loop to another one. */
export type LoopMessage =
  /** What the engines of two loops have to say to each other; the only messages that are arrays. */
  EngineMessage | UsageMessage | SessionMessage | LiveReportMessage;

/** What connections have answered to an ask of the other loop. */
export interface LiveReportMessage {
  readonly type: 'live-report';
  readonly report: AskReport;
}

/** What a loop has taken from quotas and rates since its last message. */
export interface UsageMessage {
  readonly type: 'usage';
  readonly taken: readonly TakenUsage[];
}

export function isOfEngine(message: LoopMessage): message is EngineMessage {
  return Array.isArray(message);
}

/** From a realtime loop to the background loop. */
export type LoopToBackground =
  | { readonly type: 'answer'; readonly number: number; readonly answer: unknown }
  /** There is no answer; `why` is for the operator. */
  | { readonly type: 'no-answer'; readonly number: number; readonly why: string }
  /** The loop has sent everything; answered with `goodbye`. */
  | { readonly type: 'goodbye' }
  /** Since when the engine of the loop cannot be used, and why; `undefined`: it can. */
  | { readonly type: 'engine'; readonly away: EngineAway | undefined }
  | { readonly type: 'usage'; readonly usage: readonly DayUsage[] }
  /** What the loop has logged. */
  | { readonly type: 'logged'; readonly lines: readonly KeptLine[] }
  /** What the loop has seen of watched apps. */
  | { readonly type: 'tapped'; readonly ticks: readonly AppTick[] }
  /** A loop of another server has said something to this server. */
  | { readonly type: 'cluster-heard'; readonly word: LoopWord }
  /** A word was said to a loop of another server; `isHeard`: it is there. */
  | { readonly type: 'cluster-said'; readonly to: string; readonly isHeard: boolean }
  | { readonly type: 'webhook-events'; readonly events: readonly AppWebhookEvent[] }
  /** An event that fits a push rule of its app. */
  | { readonly type: 'rule-event'; readonly event: RuleEvent }
  /** The server stops: what the next start must know of the loop's histories. */
  | { readonly type: 'histories'; readonly saved: Uint8Array };

/** From the background loop to a realtime loop. */
export type BackgroundToLoop =
  | { readonly type: 'apps'; readonly apps: readonly App[]; readonly changes: ChangedIds }
  | { readonly type: 'ask'; readonly number: number; readonly question: Question }
  /** The background loop has taken over this many webhook events. */
  | { readonly type: 'webhook-events-taken'; readonly events: number }
  /** The background loop has stored the webhook events with these ids, or has dropped them. */
  | { readonly type: 'webhook-events-over'; readonly ids: readonly string[] }
  /** An event that fits a push rule was handled. `dataLength`: characters of its data. */
  | { readonly type: 'rule-event-done'; readonly appId: string; readonly dataLength: number }
  /** The push listener has this many connections now. */
  | { readonly type: 'push-connections'; readonly open: number }
  /** What is watched from now on. */
  | { readonly type: 'watch'; readonly apps: readonly WatchedApp[] }
  /** Says something to a loop of another server, or to one loop of each. */
  | { readonly type: 'cluster-say'; readonly to: string | undefined; readonly text: string }
  /** The background loop has received everything. */
  | { readonly type: 'goodbye' };

/** From the main thread to the background thread. */
export type ToBackground =
  | {
      readonly type: 'start';
      readonly config: Config;
      readonly logFormat: 'json' | 'text';
      /** Leads to the log thread. */
      readonly logPort: MessagePort;
      /** Lead to the realtime loops that do not run on the main thread, in their order. */
      readonly loopPorts: readonly MessagePort[];
      /** The certificate of the configuration; `undefined`: it names none. */
      readonly tls: Certificate | undefined;
    }
  /** `channels` is where the channels listener listens. */
  | {
      readonly type: 'realtime';
      readonly state: RealtimeState;
      readonly channels?: ListenerAddress;
    }
  /** The configuration was read again. */
  | {
      readonly type: 'reload';
      readonly config: Config;
      readonly tls: Certificate | undefined;
    }
  | { readonly type: 'stop' }
  | LoopToBackground;

/** From the background thread to the main thread. */
export type FromBackground =
  | {
      readonly type: 'ready';
      readonly apps: readonly App[];
      readonly admin: ListenerAddress;
      readonly adminPassword: AdminPasswordSource;
      /** Logs in to the dashboard once; `undefined` if there is none. */
      readonly logInToken: string | undefined;
      readonly push: ListenerAddress;
      /** The id of the app that was created because there was none. */
      readonly createdApp: string | undefined;
      readonly instances: readonly PushInstance[];
      /** The id of the instance that was created because there was none. */
      readonly createdInstance: string | undefined;
      /** The usage of today before this start. */
      readonly usage: readonly DayUsage[];
      /** The certificate of both public listeners; `undefined` for plain HTTP. */
      readonly tls: Certificate | undefined;
    }
  | { readonly type: 'failed'; readonly fault: StartFault }
  /** The histories that all loops had at the last stop. Comes before "ready". */
  | { readonly type: 'saved-histories'; readonly saved: SharedArrayBuffer }
  /** There is another certificate for the channels listener. */
  | { readonly type: 'certificate'; readonly tls: Certificate }
  /** The readiness check knows that clients can connect. */
  | { readonly type: 'listening-noted' }
  | { readonly type: 'stopped' }
  | BackgroundToLoop;

/** What a realtime thread needs to open its loop. */
export interface RealtimeStart {
  readonly config: Config;
  /** The number of this loop among the realtime loops. */
  readonly index: number;
  readonly logFormat: 'json' | 'text';
  /** Leads to the log thread. */
  readonly logPort: MessagePort;
  /** Leads to the background loop. */
  readonly backgroundPort: MessagePort;
  /** Lead to the other realtime loops. */
  readonly loopPorts: LoopPorts;
  readonly serverName: string;
  /** The memory in which the links count handled messages. */
  readonly handled: SharedArrayBuffer;
  readonly totals: LoopTotals;
  readonly apps: readonly App[];
  /** The usage of today before this start. */
  readonly usage: readonly DayUsage[];
  /** The histories that all loops had at the last stop. */
  readonly histories: SharedArrayBuffer | undefined;
  /** For the channels listener; `undefined` for plain HTTP. */
  readonly tls: Certificate | undefined;
}

/** From the main thread to a realtime thread. Each is answered with `done` or `failed`, in their order. */
export type ToRealtimeThread =
  | ({ readonly type: 'open' } & RealtimeStart)
  | { readonly type: 'connect' }
  | { readonly type: 'listen'; readonly port: number }
  | { readonly type: 'certificate'; readonly tls: Certificate }
  | { readonly type: 'drain' }
  | { readonly type: 'close' };

/** From a realtime thread to the main thread. */
export type FromRealtimeThread =
  /** The thread can receive messages: earlier ones would be lost. */
  | { readonly type: 'up' }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly fault: StartFault }
  /** Nothing caught an error. The server must stop. */
  | { readonly type: 'died'; readonly why: string };
