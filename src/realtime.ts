import { MemoryAppDirectory } from './apps/directory.ts';
import type { ChangedIds } from './changed-ids.ts';
import type { App } from './channels/app.ts';
import { ChannelNews } from './channels/channel-news.ts';
import type { Hub } from './channels/hub.ts';
import { LocalChannels } from './channels/local-channels.ts';
import type { Log, Timers } from './channels/ports.ts';
import { type DayUsage, Usage } from './channels/usage.ts';
import { UserNews } from './channels/user-news.ts';
import { UserSessions } from './channels/user-sessions.ts';
import type { AppWebhookEvent } from './channels/webhooks.ts';
import type { Config } from './config/schema.ts';
import { MemoryEventCache } from './engines/memory/event-cache.ts';
import { MemoryRoster } from './engines/memory/roster.ts';
import { MemoryUserRoster } from './engines/memory/user-roster.ts';
import { Listeners } from './listeners.ts';
import type {
  Certificate,
  ListenerAddress,
  LiveApp,
  LiveChannel,
  Question,
  Questions,
} from './messages.ts';
import { LoopDelay } from './observability/loop-delay.ts';
import { type MetricValues, TableMeter } from './observability/meter.ts';
import { ChannelsApi } from './transports/channels-api/api.ts';
import { listenForChannels } from './transports/channels-listener.ts';
import { FinishedHandshakes } from './transports/handshakes/finished-handshakes.ts';
import { plainAddress } from './transports/handshakes/remote-address.ts';
import { WebSocketAudience } from './transports/websocket/audience.ts';
import { Backlog } from './transports/websocket/backlog.ts';
import { Connections } from './transports/websocket/connections.ts';
import { drain } from './transports/websocket/drain.ts';
import { HoldBack } from './transports/websocket/hold-back.ts';
import { LoopShare } from './transports/websocket/loop-share.ts';
import { addressOf, portOf } from './transports/websocket/remote.ts';
import { WebSocketTransport } from './transports/websocket/transport.ts';
import { WebhookOutlet } from './webhook-outlet.ts';
import { within } from './within.ts';

/**
 * Silent connections are looked for once a second, a tenth of all at a time: all of 10,000 at once held up the loop
 * for 3 ms. Milliseconds.
 */
const CHECK_INTERVAL_MS = 100;
const CHECK_PARTS = 10;

/** How often usage is handed over to be kept: a crash forgets no more than this and one commit. Milliseconds. */
const USAGE_INTERVAL_MS = 500;

export interface RealtimeOptions {
  readonly config: Config;
  readonly apps: readonly App[];
  /** What was used today before this start. */
  readonly usage: readonly DayUsage[];
  readonly tls: Certificate | undefined;
  readonly connectionGauge: Int32Array;
  readonly timers: Timers;
  readonly log: Log;
  /** Lines of the log that were dropped so far. */
  readonly logLinesDropped: () => number;
  readonly keepUsage: (usage: readonly DayUsage[]) => void;
  readonly sendWebhookEvents: (events: readonly AppWebhookEvent[]) => void;
}

/** The loop that delivers: WebSockets and the HTTP API of Channels. It owns no disk and runs no SQL. */
export interface Realtime {
  readonly listener: ListenerAddress;
  /** Takes over a new list of apps; connections of those that are gone end. `changes` is for the log. */
  replaceApps(apps: readonly App[], changes: ChangedIds): void;
  webhookEventsTaken(events: number): void;
  /** Shows another certificate from now on; connections that are open stay. Throws, and keeps the old one. */
  replaceCertificate(tls: Certificate): void;
  answer(question: Question): Questions[Question['what']]['answer'];
  /** Takes no new connections, and ends those there are, spread over the drain time. */
  stop(): Promise<void>;
}

export function startRealtime(options: RealtimeOptions): Realtime {
  const { config, timers, log, tls } = options;
  const { channels } = config;

  const apps = new MemoryAppDirectory();
  apps.replace(options.apps);
  const meter = new TableMeter();
  const loopDelay = new LoopDelay();
  const usage = new Usage(timers, log, meter);
  usage.restore(options.usage);
  const webhooks = new WebhookOutlet(options.sendWebhookEvents, meter);

  const connections = new Connections(options.connectionGauge);
  const backlog = new Backlog(connections, channels.sendBufferBytes);
  const holdBack = holdBackOfThisLoop();
  const audience = new WebSocketAudience(connections, backlog, holdBack, meter);
  const roster = new MemoryRoster();
  const hub: Hub = {
    audience,
    roster,
    channels: new LocalChannels(),
    users: new MemoryUserRoster(),
    cache: new MemoryEventCache(timers),
    clock: timers,
    log,
    meter,
    news: new ChannelNews(timers, audience, usage, webhooks),
    userNews: new UserNews(timers, audience),
    usage,
    subscriptionErrors: channels.subscriptionErrors,
    sessions: new UserSessions(),
  };
  const transport = new WebSocketTransport(
    hub,
    apps,
    connections,
    backlog,
    holdBack,
    channels,
    meter,
  );
  const api = new ChannelsApi(hub, apps, channels, meter, (app, userId) =>
    transport.terminate(app, userId),
  );
  const finished = new FinishedHandshakes((address) => webSocketPorts(connections, address));

  const listeners = new Listeners(audience, (certificate, port) =>
    listenForChannels(
      { ...channels, port, tls: certificate },
      hub,
      transport,
      api,
      finished,
      meter,
    ),
  );
  const { port } = listeners.open(tls, channels.port);
  const checks = setInterval(() => {
    backlog.lookAgain();
    listeners.forgetEmpty();
    transport.checkPart(CHECK_PARTS);
  }, CHECK_INTERVAL_MS);
  const keepUsage = () => {
    const unsaved = usage.unsaved();
    if (unsaved.length > 0) options.keepUsage(unsaved);
  };
  const usageTimer = setInterval(keepUsage, USAGE_INTERVAL_MS);

  const live = (): LiveApp[] => {
    const figures: LiveApp[] = [];
    for (const app of apps.all()) {
      figures.push({
        appId: app.id,
        connections: transport.connectionsOf(app),
        channels: roster.channels(app, '').size,
        messages: usage.todayOf(app),
      });
    }
    return figures;
  };
  const metrics = (): MetricValues => {
    meter.set('connections', connections.size);
    meter.set('channels', roster.channelCount());
    meter.set('loopDelay', loopDelay.longestSeconds(), 'realtime');
    meter.set('logLinesDropped', options.logLinesDropped(), 'realtime');
    return meter.snapshot();
  };
  const liveChannels = (appId: string, prefix: string, most: number): LiveChannel[] => {
    const app = apps.byId(appId);
    if (app === undefined) return [];
    return [...roster.channels(app, prefix)]
      .slice(0, most)
      .map(([name, { subscriptions, users }]) => ({ name, subscriptions, users }));
  };

  return {
    listener: { host: channels.host, port, tls: tls !== undefined },
    replaceApps(list, changes) {
      for (const app of apps.replace(list).gone) transport.endAll(app, 'app-disabled');
      // Said here, where it holds: whoever reads it may rely on it.
      log.info('Apps changed', { apps: list.length, ...changes });
    },
    replaceCertificate: (certificate) => listeners.replace(certificate),
    webhookEventsTaken: (events) => webhooks.taken(events),
    answer(question) {
      switch (question.what) {
        case 'finished-ports':
          return finished.suspect(question.address);
        case 'metrics':
          return metrics();
        case 'live-apps':
          return live();
        case 'live-channels':
          return liveChannels(question.appId, question.prefix, question.most);
        default:
          return question satisfies never;
      }
    },
    async stop() {
      const stopped = listeners.close();
      await drain(connections, config.drainSeconds, (socket) =>
        transport.end(socket, 'server-stopping'),
      );
      clearInterval(checks);
      // A client may leave its end half open for as long as it likes; this does not wait for it.
      await within(STOP_WAIT_MS, stopped);
      await within(STOP_WAIT_MS, listeners.end());
      // Last of all, so that what was told and used until now is not forgotten.
      clearInterval(usageTimer);
      hub.news.flush();
      webhooks.flush();
      keepUsage();
      loopDelay[Symbol.dispose]();
    },
  };
}

/** What requests under way and closing handshakes may take at the end. Milliseconds. */
const STOP_WAIT_MS = 1000;

function holdBackOfThisLoop(): HoldBack {
  const share = new LoopShare(performance.now());
  return new HoldBack({
    now: () => performance.now(),
    busyShare: (nowMs) => share.at(nowMs),
    after: (delayMs, run) => setTimeout(run, delayMs),
    // Bun sends what was published at the end of a turn, and then runs these.
    afterTurn: (run) => void setImmediate(run),
  });
}

function* webSocketPorts(connections: Connections, address: string): Iterable<number> {
  for (const { data } of connections.all()) {
    if (plainAddress(addressOf(data.remote)) === address) yield portOf(data.remote);
  }
}
