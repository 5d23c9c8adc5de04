import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { basename } from 'node:path';
import type { Revocation } from '../../channels/grants/revocations.ts';
import type { Config } from '../../config/schema.ts';
import { areSamePlaces } from '../../config/settings/url-logins.ts';
import type { LoopNotice } from '../../engines/redis/loop-bus.ts';
import { LineRing } from '../../observability/line-ring.ts';
import { TableMeter } from '../../observability/meter.ts';
import { openLog } from '../../observability/open-log.ts';
import { InstanceTaps } from '../../push/watching/push-tap.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { Log } from '../../runtime/ports.ts';
import { monotonicTimers, systemTimers, unrefTimers } from '../../runtime/system-timers.ts';
import { every } from '../../runtime/time/every.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import { Unreadable, UnreadableMessages } from '../../runtime/unreadable.ts';
import { loadReader } from '../../tenants/tenant-kind.ts';
import { Readiness } from '../../transports/admin/readiness.ts';
import type { AdminRoute } from '../../transports/admin/routes.ts';
import { watchedInstance } from '../../watching/records.ts';
import { loopName } from '../link/loop-name.ts';
import type {
  BackgroundToLoop,
  FromBackground,
  ListenerAddress,
  LoopToBackground,
  RealtimeState,
  ToBackground,
} from '../link/messages.ts';
import { RealtimeClient } from '../link/realtime-client.ts';
import type { StoredOutcome } from '../link/revocation-relay.ts';
import { reloadedLogins } from '../redis-logins.ts';
import { serverName } from '../server-name.ts';
import { readTlsFiles, type TlsFiles } from '../tls-files.ts';
import { openAdmin } from './admin/admin.ts';
import type { AdminUses } from './admin/admin-of.ts';
import type * as AdminRoutes from './admin/admin-routes.ts';
import type { BackgroundBase } from './base.ts';
import { openCertificates } from './certificates.ts';
import { HistoryFile } from './history-file.ts';
import { openKeySets } from './key-sets/open-key-sets.ts';
import { LoopWatch } from './monitoring/loop-watch.ts';
import { openMonitoring } from './open-monitoring.ts';
import { openForwardProxy, openResolver } from './outgoing.ts';
import { openPush } from './push/push.ts';
import { PushRules } from './push/rules.ts';
import { openSources } from './sources/sources.ts';
import { openStore } from './store/open-store.ts';
import { refusedChanges } from './store/refused-changes.ts';
import { allLoopsServeApps, openTenants, revokeOnAllLoops } from './tenants.ts';
import { TlsRenewal } from './tls-renewal.ts';
import { openUsage } from './usage/open-usage.ts';
import { openWatching } from './watching.ts';
import { openWebhooks } from './webhooks.ts';

type BackgroundStart = Extract<ToBackground, { type: 'start' }>;
type Post = (message: FromBackground) => void;

/** The parts of the background loop. */
type Parts = Awaited<ReturnType<typeof openParts>>;

/** How often the loops are told how many push connections there are, and whether the server is ready. Milliseconds. */
const REPORT_INTERVAL_MS = 100;

/** When the server loads what it did not need for the start. Milliseconds. */
const LOAD_REST_MS = 10_000;

/**
 * Starts the parts, from the first to the last; they stop in the opposite order. Each part gets the parts that it needs, so the
 * compiler checks most of the order; the comments give the reasons for the rest. Throws what a part throws; the parts that
 * have started are stopped.
 */
async function openParts(start: BackgroundStart, post: Post) {
  const { config, memory, tlsFiles, loopPorts } = start;
  await using stack = new AsyncDisposableStack();
  const posts = loopPorts.map((port) => (message: BackgroundToLoop) => port.postMessage(message));
  const realtime = new RealtimeClient([post, ...posts], monotonicTimers);

  const ring = new LineRing(Date.now());
  const opened = stack.use(
    openLog({
      level: config.log.level,
      format: start.logFormat,
      port: start.logPort,
      keep: (line) => ring.add(line),
    }),
  );
  const { log, droppedLines: logLinesDropped } = opened;
  lowerPriority(log);
  const meter = new TableMeter();
  const resolver = openResolver(log);
  const proxy = openForwardProxy(config, resolver, log);
  const readiness = new Readiness();
  const { database, health } = stack.use(
    await openStore({ url: config.store.url, tls: tlsFiles.store, readiness, log }),
  );
  // Before the tenants: health checks must be answered while a large store is read.
  const admin = stack.use(await openAdmin({ config, memory, readiness, meter, log }));
  const base: BackgroundBase = {
    config,
    memory,
    tlsFiles,
    realtime,
    log,
    ring,
    logLinesDropped,
    meter,
    resolver,
    proxy,
    readiness,
    database,
    health,
  };

  const tenants = stack.use(await openTenants(base));
  const { apps, instances } = tenants;
  const webhooks = stack.use(await openWebhooks(base, tenants));
  const instanceTaps = new InstanceTaps();
  const watching = stack.use(
    openWatching({
      ...base,
      node: serverName(config),
      isOneOfCluster: config.engine.type === 'redis',
      apps: apps.directory,
      instances: instances.directory,
      instanceTaps,
    }),
  );
  const keySets = stack.use(openKeySets(base, tenants));
  const certificates = stack.use(await openCertificates(base));
  readiness.certificateFault = () => certificates.fault();
  const usage = stack.use(openUsage(base));
  const usageBefore = await usage.today();
  // While starting, reads may wait long for another process. From here on, requests are served.
  await database.waitBriefly();
  const push = stack.use(
    await openPush(base, { tls: certificates.tls, tenants, taps: instanceTaps, webhooks }),
  );
  const sources = stack.use(
    openSources(base, { instances: instances.directory, accept: push.acceptPublish }),
  );
  database.onRefused = refusedChanges({
    meter,
    log,
    clock: performance,
    instanceId: (number) => instances.directory.byNumber(number)?.id,
  });
  const services = {
    tenants,
    webhooks,
    instanceTaps,
    watching,
    keySets,
    certificates,
    usage,
    push,
    sources,
  };

  const monitoring = stack.use(openMonitoring(base, { adminAddress: admin.address, ...services }));
  const renewal = stack.use(
    new TlsRenewal({ config, tlsFiles, read: readTlsFiles, timers: systemTimers, log }),
  );
  readiness.tlsFilesFault = () => renewal.fault();
  const routes = routesOnRequest(base, { ...services, monitoring });
  admin.serve(routes);
  if (!isBinary()) stack.defer(monotonicTimers.after(LOAD_REST_MS, () => loadRest(routes)));
  if (realtime.count > 1) stack.use(new LoopWatch({ ...base, timers: monotonicTimers }));
  const pushRules = stack.use(
    new PushRules({
      apps: apps.directory,
      instances: instances.directory,
      accept: push.acceptPublish,
      meter,
      clock: monotonicTimers,
      log,
    }),
  );
  // What the requests of operators need must still be there while they are answered.
  stack.defer(() => admin.stopServing());
  // Early, because the other parts may take long to stop.
  stack.defer(() => webhooks.storeAccepted());
  // Stops first: the loops have already handed over their histories.
  const historyFile = stack.use(
    await HistoryFile.open({
      config,
      historyBytes: memory.shares.historyBytes,
      database,
      log,
      loops: realtime.count,
    }),
  );
  const running = { monitoring, renewal, pushRules, historyFile, stack: stack.move() };
  return { ...base, admin, ...services, usageBefore, ...running };
}

/** Whether the program is one file, of which the kernel keeps what runs. */
function isBinary(): boolean {
  return !basename(process.execPath).startsWith('bun');
}

/** An operator may replace the program's files while it runs, and then nothing more can be loaded from them. */
function loadRest(routes: () => readonly AdminRoute[]): void {
  loadReader();
  routes();
}

/** Makes the routes of the admin listener when they are first asked for. */
function routesOnRequest(base: BackgroundBase, uses: AdminUses): () => readonly AdminRoute[] {
  let routes: readonly AdminRoute[] | undefined;
  return () => {
    // Making the schemas of all operations took a quarter of the CPU time of a start.
    const { adminRoutes } = require('./admin/admin-routes.ts') as typeof AdminRoutes;
    routes ??= adminRoutes(base, uses);
    return routes;
  };
}

/** The background loop: everything that uses SQL or a slow network. */
export class Background {
  private readonly parts: Parts;
  private readonly post: Post;
  private readonly unreadable: UnreadableMessages;
  private reportedReady = false;
  private reportedPushConnections = 0;

  private constructor(parts: Parts, post: Post) {
    this.parts = parts;
    this.post = post;
    const { log, meter } = parts;
    // The realtime loops have not seen changes that came before "ready".
    this.followTenants();
    parts.health.watch();
    // Runs as long as this thread. Readiness also changes with time, so nobody reports a change.
    every(unrefTimers, REPORT_INTERVAL_MS, () => {
      this.reportPushConnections();
      this.reportReadiness();
    });
    this.unreadable = new UnreadableMessages({ log, meter, clock: monotonicTimers });
  }

  /** Starts all parts. Throws what a part throws; the parts that have started are stopped. */
  static async start(start: BackgroundStart, post: Post): Promise<Background> {
    const parts = await openParts(start, post);
    const saved = parts.historyFile.take();
    if (saved !== undefined) post({ type: 'saved-histories', saved });
    post(readyMessage(parts));
    const background = new Background(parts, post);
    for (const [place, port] of start.loopPorts.entries()) {
      port.onmessage = ({ data }: { readonly data: LoopToBackground }) =>
        background.receive(place + 1, data);
    }
    return background;
  }

  /** Stores the state of the realtime loops and the address that they listen on, and starts what needs their answers. */
  setRealtimeState(state: RealtimeState, channels: ListenerAddress | undefined): void {
    const { readiness, admin, push, sources, usage, certificates } = this.parts;
    const { monitoring, renewal } = this.parts;
    readiness.setRealtime(state === 'draining' ? 'stopping' : state);
    if (state === 'draining') {
      admin.drain();
      push.drain();
      void sources.drain();
    }
    this.reportReadiness();
    monitoring.channelsListenAt(channels);
    if (state !== 'listening') return;
    monitoring.monitor.start();
    usage.start();
    sources.start();
    certificates.start((certificate) => {
      this.post({ type: 'certificate', tls: certificate });
      void this.replacePushCertificate(certificate);
    });
    renewal.start((now, before) => this.useRenewedFiles(now, before));
    monitoring.servers.begin();
  }

  /** Handles a message of a realtime loop. */
  receive(loop: number, message: LoopToBackground): void {
    const { realtime, readiness, usage, ring, webhooks, push, pushRules } = this.parts;
    switch (message.type) {
      case 'answer':
        realtime.settle(loop, message.number, message.answer);
        return;
      case 'no-answer':
        realtime.notAnswered(message.number, message.why);
        return;
      case 'engine':
        readiness.setEngine(loopName(loop), message.away);
        return;
      case 'usage':
        usage.keep(message.usage);
        return;
      case 'logged':
        for (const line of message.lines) ring.add(line);
        return;
      case 'push-request': {
        const { request } = message;
        push.serveForwarded(request, (bytes) =>
          realtime.post(loop, { type: 'push-answer', answer: { number: request.number, bytes } }),
        );
        return;
      }
      case 'webhook-events':
        webhooks.accept(message.events, (id) => realtime.webhookEventOver(loop, id));
        realtime.post(loop, { type: 'webhook-events-taken', events: message.events.length });
        return;
      case 'rule-event':
        void pushRules.take(message.event).finally(() => {
          const { appId, data } = message.event;
          realtime.post(loop, { type: 'rule-event-done', appId, dataLength: data.length });
        });
        return;
      case 'revoke':
        void this.revoke(message.revocation).then((outcome) =>
          realtime.post(loop, { type: 'revoke-answered', number: message.number, outcome }),
        );
        return;
      case 'key-set-wanted':
        void this.parts.keySets.ask(message.appId, message.known);
        return;
      case 'cluster-received':
        this.receiveNotice(message.notice);
        return;
      case 'tapped':
      case 'cluster-sent':
        this.parts.watching.receive(message);
        return;
      case 'histories':
        this.parts.historyFile.add(message.saved);
        return;
      case 'goodbye':
        realtime.post(loop, message);
        return;
      default:
        message satisfies never;
        this.unreadable.drop('thread', loopName(loop), new Unreadable('Its kind is not known'));
    }
  }

  /**
   * Applies the tenants of a reloaded configuration, the certificate of the push listener, and those for other
   * servers. The main thread has replaced the certificate of its listener. Settles when all loops serve the tenants.
   * Never rejects.
   */
  async reload(changed: Config, tlsFiles: TlsFiles): Promise<void> {
    const { realtime, tenants, push, certificates, renewal, log } = this.parts;
    const { listeners } = tlsFiles;
    renewal.reloaded(changed, tlsFiles);
    this.useLinkTls(tlsFiles);
    this.useLogins(changed);
    const applied = [tenants.apps.reconfigure(changed), tenants.instances.reconfigure(changed)];
    push.reconfigure(changed);
    certificates.reloaded(listeners);
    if (listeners !== undefined) applied.push(this.useCertificate(listeners));
    await Promise.all(applied);
    await allLoopsServeApps(realtime, log);
  }

  /** Stops all parts, last started first. */
  async stop(): Promise<void> {
    await this.parts.stack.disposeAsync();
  }

  private receiveNotice({ from, text }: LoopNotice): void {
    const { monitoring, watching } = this.parts;
    try {
      // Each part ignores messages that are for the other.
      const isTaken = monitoring.servers.receive(from, text) || watching.receiveFrom(from, text);
      if (!isTaken) throw new Unreadable('It is for no part of this version');
    } catch (error) {
      this.unreadable.drop('server', from, error);
    }
  }

  /** Passes on every later change of an app or instance. */
  private followTenants(): void {
    const { tenants, watching, keySets, push, usage, webhooks, realtime, log } = this.parts;
    keySets.follow(tenants.apps.all);
    tenants.apps.follow((all, change) => {
      // First: what the loops of deleted apps still report is then for nobody.
      usage.forget(change.deleted);
      webhooks.forget('app', change.deleted);
      realtime.postToAll({ type: 'apps', apps: all, change });
      keySets.follow(all);
      watching.tenantsChanged(change.deleted);
      void tenants.revocations.appsDeleted(change.deleted);
    });
    tenants.revocations.follow((change) => realtime.postToAll({ type: 'revocations', change }));
    tenants.instances.follow((all, { ids, deleted }) => {
      webhooks.forget('instance', deleted);
      push.replaceInstances(all);
      watching.tenantsChanged(deleted.map(watchedInstance));
      log.info('Instances changed', { instances: all.length, ...ids });
    });
  }

  /** Revokes grants for a backend. Settles when all loops of this server know it. Never rejects. */
  private async revoke(revocation: Revocation): Promise<StoredOutcome> {
    const { tenants, log } = this.parts;
    try {
      return await revokeOnAllLoops(this.parts, tenants, revocation);
    } catch (error) {
      const why = messageOf(error);
      log.warn('A revocation was answered with 503', { app: revocation.appId, why });
      return 'away';
    }
  }

  /** Reports the number of push connections to the realtime loops if it has changed. */
  private reportPushConnections(): void {
    const { push, realtime } = this.parts;
    const open = push.connections();
    if (open === this.reportedPushConnections) return;
    this.reportedPushConnections = open;
    realtime.postToAll({ type: 'push-connections', open });
  }

  /** Reports to the listeners for clients whether this server is ready if that has changed. */
  private reportReadiness(): void {
    const { readiness, push, realtime } = this.parts;
    const isReady = readiness.reasons().length === 0;
    if (isReady === this.reportedReady) return;
    this.reportedReady = isReady;
    push.setReadiness(isReady);
    realtime.postToAll({ type: 'readiness', isReady });
  }

  /** Uses renewed files of TLS, and hands the certificate to the main thread, which has the channels listener. */
  private useRenewedFiles(now: TlsFiles, before: TlsFiles): void {
    this.useLinkTls(now);
    const { listeners } = now;
    if (listeners === undefined || Bun.deepEquals(listeners, before.listeners)) return;
    this.post({ type: 'certificate', tls: listeners });
    this.parts.certificates.reloaded(listeners);
    void this.useCertificate(listeners);
  }

  /** Sets what the next connections to Redis, PostgreSQL and sources use. */
  private useLinkTls({ redis, store, sources }: TlsFiles): void {
    const { database, realtime } = this.parts;
    database.useTls(store);
    this.parts.sources.useTls(sources);
    realtime.postToAll({ type: 'redis-tls', tls: redis });
  }

  /** Sets what the next connections to Redis and PostgreSQL log in with. Other servers than at the start take a restart. */
  private useLogins(changed: Config): void {
    const { config, database, realtime } = this.parts;
    const { url } = changed.store;
    if (areSamePlaces(config.store.url, url)) database.useUrl(url);
    const logins = reloadedLogins(config, changed);
    if (logins !== undefined) realtime.postToAll({ type: 'redis-logins', logins });
  }

  private async useCertificate(certificate: Certificate): Promise<void> {
    this.parts.monitoring.monitor.setCertificate(certificate);
    await this.replacePushCertificate(certificate);
  }

  /** Sets the certificate of the push listener. If it cannot be used, that is logged, and the listener keeps its own. */
  private async replacePushCertificate(certificate: Certificate): Promise<void> {
    const { push, log } = this.parts;
    try {
      await push.replaceCertificate(certificate);
      log.info('The push listener uses another certificate');
    } catch (error) {
      log.error('The push listener keeps its certificate', { why: messageOf(error) });
    }
  }
}

function readyMessage(parts: Parts): Extract<FromBackground, { type: 'ready' }> {
  const { config, admin, tenants, usageBefore, push, certificates } = parts;
  return {
    type: 'ready',
    apps: tenants.apps.all,
    revocations: [...tenants.revocations.known.all()],
    admin: admin.address,
    adminPassword: admin.passwordSource,
    logInToken: config.dashboard.enabled ? admin.makeLogInLink() : undefined,
    push: push.address,
    createdApp: tenants.createdApp,
    instances: tenants.instances.all.map(({ instance }) => instance),
    createdInstance: tenants.createdInstance,
    usage: usageBefore,
    tls: certificates.tls,
  };
}

/** Makes the kernel prefer the realtime loop if both share a core. Only Linux has priorities for threads. */
function lowerPriority(log: Log): void {
  if (process.platform !== 'linux') return;
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').pop());
    setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch (error) {
    // A failure does no harm, but deliveries may be slower during heavy background work.
    log.debug('The background thread keeps its normal priority', { why: messageOf(error) });
  }
}
