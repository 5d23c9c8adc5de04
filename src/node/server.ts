import type { App } from '../channels/app.ts';
import type { Config } from '../config/schema.ts';
import { hasTls } from '../config/settings/has-tls.ts';
import { hasOwnStore } from '../config/settings/own-store.ts';
import { LogThread } from '../observability/log-thread.ts';
import { openLog } from '../observability/open-log.ts';
import type { PushInstance } from '../push/model/instance.ts';
import { messageOf } from '../runtime/error-code.ts';
import { socketPath } from '../runtime/listen-host.ts';
import type { Log } from '../runtime/ports.ts';
import { monotonicTimers, systemTimers, unrefTimers } from '../runtime/system-timers.ts';
import type { Certificate } from '../runtime/tls/certificate.ts';
import { BackgroundThread } from './background/background-thread.ts';
import { LineRelay } from './link/line-relay.ts';
import type { AdminPasswordSource, ListenerAddress } from './link/messages.ts';
import { logMemory, planMemory } from './memory/plan-memory.ts';
import { requireOpenFiles } from './open-files.ts';
import { RealtimeLoops, type RealtimeLoopsOptions } from './realtime/realtime-loops.ts';
import { serverName } from './server-name.ts';
import { SlowStart } from './slow-start.ts';
import { boundAcceptedSockets } from './sockets/accepted-sockets.ts';
import { StartFailed } from './start-failed.ts';
import { StopTime } from './stop-time.ts';
import { readTlsFiles } from './tls-files.ts';

/** A running server. */
export interface FanfareServer {
  readonly channels: ListenerAddress;
  readonly push: ListenerAddress;
  readonly admin: ListenerAddress;
  readonly adminPassword: AdminPasswordSource;
  /** Makes a link that logs in to the dashboard once, within ten minutes; `undefined` if there is no dashboard. */
  readonly logInToken: string | undefined;
  /** The number of realtime loops. */
  readonly threads: number;
  /** At the time of the start. */
  readonly apps: readonly App[];
  /** The id of the app that was created because there was none. */
  readonly createdApp: string | undefined;
  /** At the time of the start. */
  readonly instances: readonly PushInstance[];
  /** The id of the instance that was created because there was none. */
  readonly createdInstance: string | undefined;
  readonly log: Log;
  /** Settles only if a part has died, with the reason. The server must then be stopped. */
  readonly died: Promise<string>;
  /**
   * Applies the apps, instances and certificate of another configuration. Settles when all loops serve them. Rejects
   * with `StartFailed`, and keeps the old ones, if that fails.
   */
  reload(config: Config): Promise<void>;
  /** Reports at `/readyz` that the server is about to stop. */
  announceStop(): void;
  /** Stops all parts, last started first. */
  stop(): Promise<void>;
}

/** Starts all loops. Throws `StartFailed` if one cannot start, and stops what has started. */
export async function startServer(config: Config): Promise<FanfareServer> {
  refuseUnsupported(config);
  const logFormat = formatOf(config);
  const tlsFiles = readTlsFiles(config);
  requireOpenFiles();
  const memory = planMemory(config);
  const { threads, plan } = memory;

  await using parts = new AsyncDisposableStack();
  const logThread = parts.use(new LogThread());
  const { level } = config.log;
  const relay = new LineRelay((lines) => background.post({ type: 'logged', lines }));
  const opened = parts.use(
    openLog({
      level,
      format: logFormat,
      port: logThread.openPort(),
      keep: (line) => relay.add(line),
    }),
  );
  const { log } = opened;
  using start = new SlowStart(log, monotonicTimers);
  const stopTime = new StopTime();
  // What runs last, just before the log ends.
  const last = parts.use(new AsyncDisposableStack());
  const background = new BackgroundThread(stopTime);
  parts.defer(() => background.stop());
  const channels = Array.from({ length: threads - 1 }, () => new MessageChannel());
  start.waitsFor('the background thread');
  const ready = await background.start({
    type: 'start',
    config,
    memory: plan,
    logFormat,
    logPort: logThread.openPort(),
    loopPorts: channels.map(({ port1 }) => port1),
    tlsFiles,
  });

  const options: RealtimeLoopsOptions = {
    config,
    memory: plan,
    tls: ready.tls,
    redisTls: tlsFiles.redis,
    timers: systemTimers,
    log,
    logFormat,
    logLinesDropped: opened.droppedLines,
    openLogPort: () => logThread.openPort(),
    serverName: serverName(config),
    toBackground: (message) => background.post(message),
    backgroundPorts: channels.map(({ port2 }) => port2),
  };
  const histories = background.takeHistories();
  const { apps, revocations, usage } = ready;
  const initial = { apps, revocations, usage, histories };
  const realtime = new RealtimeLoops(options, initial, stopTime);
  last.defer(() => realtime.end());
  parts.defer(() => realtime.stop());
  background.setReceiver((message) => realtime.first.receive(message));
  start.waitsFor('the realtime threads');
  await realtime.openThreads(initial);
  background.onCertificate = certificateUser(realtime, log);
  const listener = await realtime.listen();
  // A start that fails has one line, which says why.
  logMemory(memory, log);
  // Also those of push and of the admin API, which the background thread has opened.
  if (plan.unsentBytes !== undefined) boundAcceptedSockets(plan.unsentBytes);
  start.waitsFor('the background thread');
  await background.announceListening(listener);
  // Load balancers must stop sending requests to a server that is about to stop.
  const announceStop = () => background.post({ type: 'realtime', state: 'stopping' });
  // Runs first during a stop.
  parts.defer(() => background.post({ type: 'realtime', state: 'draining' }));

  const running = parts.move();
  return {
    channels: listener,
    push: ready.push,
    admin: ready.admin,
    adminPassword: ready.adminPassword,
    logInToken: ready.logInToken,
    threads,
    apps: ready.apps,
    createdApp: ready.createdApp,
    instances: ready.instances,
    createdInstance: ready.createdInstance,
    log,
    died: Promise.race([background.died, realtime.died]),
    reload: reloaderOf({ hasCertificate: tlsFiles.listeners !== undefined, realtime, background }),
    announceStop,
    stop() {
      stopTime.begin(config.drainSeconds);
      return running.disposeAsync();
    },
  };
}

interface ReloadParts {
  /** Whether the server was started with a certificate of its configuration. */
  readonly hasCertificate: boolean;
  readonly realtime: RealtimeLoops;
  readonly background: BackgroundThread;
}

/** Makes the function that applies another configuration. */
function reloaderOf({
  hasCertificate,
  realtime,
  background,
}: ReloadParts): FanfareServer['reload'] {
  return async (changed) => {
    refuseUnsupported(changed);
    const tlsFiles = readTlsFiles(changed);
    const { listeners: certificate } = tlsFiles;
    if ((certificate !== undefined) !== hasCertificate) {
      throw new StartFailed({
        exitCode: 2,
        message: 'tls: turning it on or off needs a restart',
      });
    }
    if (certificate !== undefined) await realtime.replaceCertificate(certificate);
    await background.reload(changed, tlsFiles);
  };
}

/** Refuses a configuration that needs a feature that this version or system does not have. */
function refuseUnsupported(config: Config): void {
  const { threads } = config.realtime;
  if (threads !== 'auto' && threads > 1 && process.platform !== 'linux') {
    const message = `realtime.threads: only Linux shares a port among several threads; set "auto" or 1, not ${threads}`;
    throw new StartFailed({ exitCode: 2, message });
  }
  refuseUnixSockets(config);
  if (hasOwnStore(config) && config.tls.acme !== null) {
    const message =
      'tls.acme: several servers share a certificate in their store: set store.url to postgres://…';
    throw new StartFailed({ exitCode: 2, message });
  }
  const { instances } = config.push;
  const hasStored = config.channels.apps === undefined || instances === undefined;
  if (hasOwnStore(config) && (hasStored || instances.length > 0)) {
    const message =
      'engine.type: "redis" is for several servers, which need one store: set store.url to postgres://…; or, without push, list all apps in channels.apps and set push.instances to []';
    throw new StartFailed({ exitCode: 2, message });
  }
}

/** Refuses what a listener on a Unix socket does not have. */
function refuseUnixSockets(config: Config): void {
  const { channels, push, realtime } = config;
  const onSocket = Object.entries({ channels, push }).find(
    ([, { host }]) => socketPath(host) !== undefined,
  );
  if (onSocket !== undefined && hasTls(config)) {
    const message = `tls: ${onSocket[0]}.host is a Unix socket, which has no TLS: leave TLS to the proxy, or listen on an address`;
    throw new StartFailed({ exitCode: 2, message });
  }
  const { threads } = realtime;
  if (socketPath(channels.host) !== undefined && threads !== 'auto' && threads > 1) {
    const message = `realtime.threads: channels.host is a Unix socket, which threads cannot share; set "auto" or 1, not ${threads}`;
    throw new StartFailed({ exitCode: 2, message });
  }
}

/** The pause after a failure to open a listener with a new certificate. Milliseconds. */
const CERTIFICATE_RETRY_MS = 60_000;

/** Makes the function that sets the certificate of the channels listener, and retries while that fails. */
function certificateUser(realtime: RealtimeLoops, log: Log): (tls: Certificate) => void {
  let latest: Certificate | undefined;
  const use = async (tls: Certificate) => {
    if (tls !== latest) return;
    try {
      await realtime.replaceCertificate(tls);
      log.info('The channels listener uses another certificate');
    } catch (error) {
      log.error('The channels listener keeps its certificate for now', { why: messageOf(error) });
      unrefTimers.after(CERTIFICATE_RETRY_MS, () => void use(tls));
    }
  };
  return (tls) => {
    latest = tls;
    void use(tls);
  };
}

function formatOf({ log }: Config): 'json' | 'text' {
  if (log.format !== 'auto') return log.format;
  return process.stderr.isTTY ? 'text' : 'json';
}
