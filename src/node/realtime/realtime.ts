import type { App } from '../../channels/app.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { DayUsage } from '../../channels/usage/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { RedisTls } from '../../engines/redis/link/connector.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import type { TenantChange } from '../../tenants/live-tenants.ts';
import type { ForwardedAnswer } from '../../transports/push-api/shared-port/forwarded-request.ts';
import type { WatchedApp } from '../../watching/records.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import type { LoopTotals } from '../link/loop-totals.ts';
import type { ListenerAddress, LoopToBackground, Question, Questions } from '../link/messages.ts';
import type { MemoryPlan } from '../memory/shares.ts';

export interface RealtimeOptions {
  readonly config: Config;
  readonly memory: MemoryPlan;
  readonly apps: readonly App[];
  /** Today's usage before this start. */
  readonly usage: readonly DayUsage[];
  /** The histories that the last stop saved, of all loops. This loop takes those of its own channels. */
  readonly histories: SharedArrayBuffer | undefined;
  readonly tls: Certificate | undefined;
  /** For the first connections to Redis. */
  readonly redisTls: RedisTls;
  readonly timers: Timers;
  readonly log: Log;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
  /** Sends to the other realtime loops. */
  readonly links: LoopLinks;
  readonly totals: LoopTotals;
  /** The name of this server, for operators. */
  readonly serverName: string;
  readonly toBackground: (message: LoopToBackground) => void;
}

/** A realtime loop: WebSockets and the HTTP API of Channels. It uses no disk and no SQL. */
export interface Realtime {
  /** Connects to Redis, if there is one. Called before `listen`. Throws `StartFailed` if it cannot be used. */
  connect(): Promise<void>;
  /** Starts listening. Throws Bun's error if the port is taken or the certificate cannot be used. */
  listen(port: number): ListenerAddress;
  /** Replaces the list of apps, and closes the connections of removed apps. `changes` is for the log. */
  replaceApps(apps: readonly App[], change: TenantChange): void;
  webhookEventsTaken(events: number): void;
  webhookEventsOver(ids: readonly string[]): void;
  ruleEventDone(event: { readonly appId: string; readonly dataLength: number }): void;
  /** Sets the number of connections of the push listener. */
  setPushConnections(open: number): void;
  /** Hands an answer of push to the request that came to the port of this loop. */
  pushAnswered(answer: ForwardedAnswer): void;
  /** Sets what health checks at the listener are answered. */
  setReadiness(isReady: boolean): void;
  /** Sets which apps are watched, and what their watchers want to see. */
  watch(apps: readonly WatchedApp[]): void;
  /** Sends a notice to a loop of another server, or with `undefined` to one loop of each server. */
  notifyServers(to: string | undefined, text: string): void;
  /** Sets the certificate of new connections. Throws, and keeps the old one, if it cannot be used. */
  replaceCertificate(tls: Certificate): void;
  /** Sets what the next connections to Redis use for TLS. */
  useRedisTls(tls: RedisTls): void;
  answer(question: Question): MaybePromise<Questions[Question['what']]['answer']>;
  /** The background loop has received everything that this one sent. */
  goodbyeReceived(): void;
  /** Announces the stop to the other servers, and returns whether there are none. Only asked of the first loop. */
  isAlone(): Promise<boolean>;
  /** Closes all connections over the drain time. Requests are served meanwhile, also over new connections. */
  drain(): Promise<void>;
  /**
   * Answers the requests in progress and stops listening. The loop continues to answer the other loops. Called when all
   * loops have drained: the system resets what waits for a listener that closes before the others.
   */
  stopListening(): Promise<void>;
  /**
   * In place of both, if no other server could take the clients: lets all connections end for everybody but their clients,
   * whose sockets stay open, and refuses requests.
   */
  retire(): Promise<void>;
  /** Closes the sockets of retired clients, and the port. The process must end at once: these clients come back in a second. */
  dismiss(): void;
  /** Hands its state to the background loop, and stops. `departuresMs`: how long clients may take to leave their channels. */
  close(departuresMs: number): Promise<void>;
}
