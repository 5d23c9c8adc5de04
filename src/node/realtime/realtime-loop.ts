import { stoppingNotice } from '../../asking/cluster-format.ts';
import { answerQuestion, type LoopAnswers } from '../../asking/questions.ts';
import type { App } from '../../channels/app.ts';
import { Revocations } from '../../channels/grants/revocations.ts';
import type { Usage } from '../../channels/usage/usage.ts';
import { stateAllPlaces } from '../../channels/users/user-places.ts';
import { isForHome } from '../../engines/threads/messages.ts';
import { LoopDelay } from '../../observability/loop-delay.ts';
import { messageOf } from '../../runtime/error-code.ts';
import { monotonicTimers, withTimeout } from '../../runtime/system-timers.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import { UnreadableMessages } from '../../runtime/unreadable.ts';
import type { MemoryAppDirectory } from '../../tenants/app-directory.ts';
import type { TenantChange } from '../../tenants/live-tenants.ts';
import type { LoopTaps } from '../../watching/loop-taps.ts';
import { loopName } from '../link/loop-name.ts';
import {
  type BackgroundToLoop,
  type InitialState,
  isOfEngine,
  kindOf,
  type ListenerAddress,
  type LoopMessage,
  type LoopToBackground,
} from '../link/messages.ts';
import { openAnswers } from './answers.ts';
import { openApps, openUsage, startUsageReports, type UsageReports } from './apps.ts';
import { openAudience } from './clients/audience.ts';
import { startChecks } from './clients/checks.ts';
import { ClientShutdown } from './clients/client-shutdown.ts';
import { type FileChecks, openFileChecks } from './clients/file-checks.ts';
import { openTransports, type Transports } from './clients/transports.ts';
import { type Core, openCore, restoreHistories } from './engine/core.ts';
import { openQuotas, type Quotas } from './engine/quotas.ts';
import { KeySetAsks } from './key-set-asks.ts';
import { logConnectionLimit } from './limits.ts';
import { type LoopBase, type LoopOptions, openBase } from './loop-base.ts';
import { openRelays, type Relays } from './relays.ts';

/** The time for Redis, and for the background loop, when a loop hands over its state. Milliseconds. */
const HAND_OVER_MS = 100;

/** A realtime loop: WebSockets and the HTTP API of Channels. It uses no disk and no SQL. */
export class RealtimeLoop {
  private readonly base: LoopBase;
  private readonly loopDelay = new LoopDelay();
  private readonly apps: MemoryAppDirectory;
  private readonly taps: LoopTaps;
  private readonly quotas: Quotas;
  private readonly usage: Usage;
  private readonly revocations: Revocations;
  private readonly relays: Relays;
  private readonly keySets: KeySetAsks;
  private readonly core: Core;
  private readonly transports: Transports;
  private readonly answers: LoopAnswers;
  private readonly fileChecks: FileChecks;
  private readonly shutdown: ClientShutdown;
  private readonly usageReports: UsageReports;
  private readonly unreadable: UnreadableMessages;
  /** Settles when the background loop has received everything that this one sent. */
  private readonly goodbye = Promise.withResolvers<void>();

  /** Opens the loop, which can then answer other loops. It starts to listen in a separate call. */
  constructor(options: LoopOptions, initial: InitialState) {
    const base = openBase(options);
    const { config, links, log, meter, toBackground } = base;
    const { apps, taps } = openApps(base, initial.apps);
    const audience = openAudience(base);
    const { connections, slowConsumers, unreadSockets } = audience;
    const quotas = openQuotas(base, connections);
    const usage = openUsage(base, initial.usage, quotas.usage);
    const revocations = new Revocations(base.timers);
    revocations.add(initial.revocations);
    const relays = openRelays(base);
    const keySets = new KeySetAsks({
      apps,
      timers: monotonicTimers,
      ask: (appId, known) => toBackground({ type: 'key-set-wanted', appId, known }),
    });
    const core = openCore(base, {
      cluster: quotas.cluster,
      apps,
      usage,
      revocations,
      relays,
      keySets,
      audience: audience.audience,
      turns: audience.turns,
      clients: () => this.transports.clients,
    });
    restoreHistories(initial.histories, { engine: core.engine, log });
    const transports = openTransports(base, { hub: core.hub, apps, audience, quotas });
    this.base = base;
    this.apps = apps;
    this.taps = taps;
    this.quotas = quotas;
    this.usage = usage;
    this.revocations = revocations;
    this.relays = relays;
    this.keySets = keySets;
    this.core = core;
    this.transports = transports;
    const { loopDelay } = this;
    this.answers = openAnswers(base, {
      ...{ apps, usage, audience, quotas, core, transports, loopDelay },
    });

    const fileChecks = openFileChecks(base, transports.listeners);
    this.fileChecks = fileChecks;
    const stopChecks = startChecks({ ...transports, slowConsumers, unreadSockets });
    this.shutdown = new ClientShutdown({
      drainSeconds: config.drainSeconds,
      connections,
      transports,
      stopChecks() {
        stopChecks();
        fileChecks.stop();
      },
    });
    this.usageReports = startUsageReports(usage, toBackground);
    this.unreadable = new UnreadableMessages({ log, meter, clock: monotonicTimers });
    links.receive(
      (from, messages) => this.receiveFromLoop(from, messages),
      core.engine.threads && ((message) => isOfEngine(message) && isForHome(message)),
    );
    quotas.exchange?.start();
  }

  /** Connects to Redis, if there is one. Called before `listen`. Throws `StartFailed` if it cannot be used. */
  connect(): Promise<void> {
    return this.core.engine.connect();
  }

  /** Starts listening. Throws Bun's error if the port is taken or the certificate cannot be used. */
  listen(port: number): ListenerAddress {
    const { config, tls, openFiles, links, log } = this.base;
    const listener = this.transports.listeners.open(tls, port);
    if (openFiles !== undefined && links.index === 0) {
      // Those of the loop hold no more connections than open files allow.
      logConnectionLimit(config.channels, openFiles, log);
    }
    this.fileChecks.start();
    return { host: config.channels.host, port: listener.port, tls: tls !== undefined };
  }

  /** Sets the certificate of new connections. Throws, and keeps the old one, if it cannot be used. */
  replaceCertificate(tls: Certificate): void {
    this.transports.listeners.replace(tls);
  }

  /** Handles a message of the background loop. */
  receive(message: BackgroundToLoop): void {
    const { relays, transports, quotas } = this;
    switch (message.type) {
      case 'apps':
        this.replaceApps(message.apps, message.change);
        return;
      case 'revocations':
        this.revocations.replace(message.change.forgotten, message.change.added);
        return;
      case 'revoke-answered':
        relays.revocations.answered(message.number, message.outcome);
        return;
      case 'ask':
        void this.answer(message).then(this.base.toBackground);
        return;
      case 'webhook-events-taken':
        relays.webhooks.taken(message.events);
        return;
      case 'webhook-events-over':
        for (const id of message.ids) relays.webhooks.settle(id);
        return;
      case 'rule-event-done':
        relays.ruleEvents.done(message);
        return;
      case 'key-set':
        this.keySets.received(message);
        return;
      case 'push-connections':
        this.fileChecks.setPushConnections(message.open);
        return;
      case 'readiness':
        transports.health.setReady(message.isReady);
        return;
      case 'push-answer':
        transports.push?.answered(message.answer);
        return;
      case 'watch':
        this.taps.watch(message.apps);
        return;
      case 'cluster-send':
        this.notifyServers(message.to, message.text);
        return;
      case 'redis-tls':
        if (quotas.cluster !== undefined) quotas.cluster.tls = message.tls;
        return;
      case 'redis-logins':
        if (quotas.cluster !== undefined) quotas.cluster.logins = message.logins;
        return;
      case 'goodbye':
        this.goodbye.resolve();
        return;
      default:
        message satisfies never;
    }
  }

  /** Announces the stop to the other servers, and returns whether there are none. Only asked of the first loop. */
  async isAlone(): Promise<boolean> {
    const { cluster } = this.quotas;
    return (
      cluster === undefined ||
      (await cluster.bus.notify(undefined, stoppingNotice(this.base.serverName))) === 0
    );
  }

  /** Closes all connections over the drain time. Requests are served meanwhile, also over new connections. */
  drain(): Promise<void> {
    return this.shutdown.drain();
  }

  /**
   * Answers the requests in progress and stops listening. The loop continues to answer the other loops. Called when all
   * loops have drained: the system resets what waits for a listener that closes before the others.
   */
  stopListening(): Promise<void> {
    return this.shutdown.stopListening();
  }

  /**
   * In place of both, if no other server could take the clients: lets all connections end for everybody but their clients,
   * whose sockets stay open, and refuses requests.
   */
  retire(): Promise<void> {
    return this.shutdown.retire();
  }

  /** Closes the sockets of retired clients, and the port. The process must end at once: these clients come back in a second. */
  dismiss(): void {
    this.shutdown.dismiss();
  }

  /** Hands the histories to the background loop, and waits until its clients have left their channels, but no longer than `maxMs`. */
  async depart(maxMs: number): Promise<void> {
    // First, because a stop may be cut short.
    const saved = this.core.engine.saveHistories();
    if (saved !== undefined) this.base.toBackground({ type: 'histories', saved });
    await withTimeout(maxMs, this.transports.clients.departures.done());
  }

  /** Hands the rest of its state to the background loop, and stops. Called when the clients of all loops have left. */
  async close(): Promise<void> {
    const { taps, usageReports, relays } = this;
    const { links, toBackground } = this.base;
    const { engine } = this.core;
    // Last, so that no webhook events and no usage are lost.
    taps.stop();
    usageReports.stop();
    this.quotas.exchange?.stop();
    relays.webhooks.flush();
    // Limited, because Redis may be away.
    await withTimeout(HAND_OVER_MS, engine.close());
    relays.webhooks.flush();
    usageReports.send();
    if (links.index !== 0) {
      // The main thread stops the background loop, and only its own messages are sure to arrive before that.
      toBackground({ type: 'goodbye' });
      await withTimeout(HAND_OVER_MS, this.goodbye.promise);
    }
    this.loopDelay[Symbol.dispose]();
    links[Symbol.dispose]();
  }

  /** Hands messages of another loop of this process to those that they are for. */
  private receiveFromLoop(from: number, messages: readonly LoopMessage[]): void {
    for (const message of messages) {
      try {
        this.take(from, message);
      } catch (error) {
        this.unreadable.drop('thread', `${loopName(from)} ${kindOf(message)}`, error);
      }
    }
    this.core.engine.threads?.received(from);
  }

  private take(from: number, message: LoopMessage): void {
    const { engine, live } = this.core;
    if (isOfEngine(message)) engine.threads?.receive(from, message);
    else if (typeof message === 'string') engine.sharedLinks?.receive(from, message);
    else if (message.type === 'session') this.transports.fallback.links.receive(from, message);
    else if (message.type === 'live-ask') live.receive(message);
    else if (message.type === 'redis') engine.sharedLinks?.receive(from, message);
    else this.quotas.exchange?.receive(message, this.apps, this.usage);
  }

  /** Replaces the list of apps while the loop serves them, and closes the connections of removed apps. */
  private replaceApps(list: readonly App[], { ids, deleted }: TenantChange): void {
    const { apps, taps, usage } = this;
    const { links, log } = this.base;
    const { engine, hub } = this.core;
    const { gone, usersLimited } = apps.replace(list, deleted);
    links.counts.appsChanged(links.index);
    engine.appsChanged();
    taps.apply();
    for (const app of usersLimited) void stateAllPlaces(hub, app);
    this.transports.clients.endAll(new Set(gone), 'app-disabled');
    // After their connections have left. The next app with the id must begin with nothing.
    for (const id of deleted) {
      engine.forgetApp(id);
      usage.forget(id);
      hub.problems.forget(id);
    }
    // Logged here because it is true from here on.
    if (links.index === 0) log.info('Apps changed', { apps: list.length, ...ids });
  }

  private async answer({
    number,
    question,
  }: Extract<BackgroundToLoop, { type: 'ask' }>): Promise<LoopToBackground> {
    try {
      return { type: 'answer', number, answer: await answerQuestion(this.answers, question) };
    } catch (error) {
      const why = messageOf(error);
      return { type: 'no-answer', number, why };
    }
  }

  /** Sends a notice to a loop of another server, or with `undefined` to one loop of each server. */
  private notifyServers(to: string | undefined, text: string): void {
    void this.quotas.cluster?.bus.notify(to, text).then((receivers) => {
      // While Redis is away, `receivers` is undefined. The notice then counts as received, because it will be
      // repeated.
      const isReceived = receivers !== 0;
      if (to !== undefined) this.base.toBackground({ type: 'cluster-sent', to, isReceived });
    });
  }
}
