import type { App } from '../../channels/app.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import type { DayUsage } from '../../channels/usage/usage.ts';
import type { Config } from '../../config/schema.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import type { ChangedIds } from '../../tenants/changed-ids.ts';
import type { WatchedApp } from '../../watching/records.ts';
import type { LoopLinks } from '../link/loop-links.ts';
import type { LoopTotals } from '../link/loop-totals.ts';
import type { ListenerAddress, LoopToBackground, Question, Questions } from '../link/messages.ts';

export interface RealtimeOptions {
  readonly config: Config;
  readonly apps: readonly App[];
  /** The usage of today before this start. */
  readonly usage: readonly DayUsage[];
  /** The histories that all loops had at the last stop; this one takes those whose home it is. */
  readonly histories: SharedArrayBuffer | undefined;
  readonly tls: Certificate | undefined;
  readonly timers: Timers;
  readonly log: Log;
  /** Log lines that were dropped so far. */
  readonly logLinesDropped: () => number;
  /** To the other realtime loops. */
  readonly links: LoopLinks;
  readonly totals: LoopTotals;
  /** The name of this server, for operators. */
  readonly serverName: string;
  readonly toBackground: (message: LoopToBackground) => void;
}

/** A realtime loop: WebSockets and the HTTP API of Channels. It owns no disk and runs no SQL. */
export interface Realtime {
  /** Connects to what several servers share. Called before `listen`. Throws `StartFailed` if that cannot be used. */
  connect(): Promise<void>;
  /** Begins to listen. Throws Bun's error if the port is taken or the certificate cannot be used. */
  listen(port: number): ListenerAddress;
  /** Replaces the list of apps; ends the connections of apps that are gone. `changes` is for the log. */
  replaceApps(apps: readonly App[], changes: ChangedIds): void;
  webhookEventsTaken(events: number): void;
  webhookEventsOver(ids: readonly string[]): void;
  ruleEventDone(event: { readonly appId: string; readonly dataLength: number }): void;
  /** Sets how many connections the push listener has. */
  pushConnectionsAre(open: number): void;
  /** Sets which apps are watched, and what watchers want to see of them. */
  watch(apps: readonly WatchedApp[]): void;
  /** Says something to a loop of another server; `undefined`: to one loop of each. */
  say(to: string | undefined, text: string): void;
  /** Uses another certificate for new connections. Throws, and keeps the old one, if it cannot be used. */
  replaceCertificate(tls: Certificate): void;
  answer(question: Question): MaybePromise<Questions[Question['what']]['answer']>;
  /** The background loop has received everything that this one sent. */
  backgroundSaidGoodbye(): void;
  /** Stops listening, and ends all connections over the drain time. The loop still answers the other loops. */
  drain(): Promise<void>;
  /** Hands what it knows to the background loop, and stops. */
  close(): Promise<void>;
}
