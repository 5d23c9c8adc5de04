import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { App } from '../channels/app.ts';
import type { Config } from '../config/schema.ts';
import { LogThread } from '../observability/log-thread.ts';
import { openLog } from '../observability/open-log.ts';
import type { PushInstance } from '../push/model/instance.ts';
import type { Certificate } from '../runtime/certificate.ts';
import type { Log } from '../runtime/ports.ts';
import { systemTimers, withTimeout } from '../runtime/system-timers.ts';
import type {
  AdminPasswordSource,
  ListenerAddress,
  ToBackground,
  ToRealtime,
} from './link/messages.ts';
import { listenError } from './listen-error.ts';
import { type Realtime, type RealtimeOptions, startRealtime } from './realtime/start.ts';
import { StartFailed } from './start-failed.ts';

/** A running server. */
export interface FanfareServer {
  readonly channels: ListenerAddress;
  readonly push: ListenerAddress;
  readonly admin: ListenerAddress;
  readonly adminPassword: AdminPasswordSource;
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
  /** Takes over the apps, instances and certificate of another configuration. Throws `StartFailed` and keeps the old ones. */
  reload(config: Config): void;
  /** Stops all parts, last started first. */
  stop(): Promise<void>;
}

/** After this time, the thread of the background loop is terminated. */
const BACKGROUND_STOP_TIMEOUT_MS = 5000;

/** Starts both loops. Throws `StartFailed` if one cannot start, and stops what has started. */
export async function startServer(config: Config): Promise<FanfareServer> {
  refuseUnsupported(config);
  const logFormat = formatOf(config);
  const tls = readTls(config);

  await using parts = new AsyncDisposableStack();
  const logThread = parts.use(new LogThread());
  const { level } = config.log;
  const opened = parts.use(openLog({ level, format: logFormat, port: logThread.openPort() }));
  const { log } = opened;
  const worker = new BackgroundWorker();
  parts.defer(() => worker.stop());
  const logPort = logThread.openPort();
  const ready = await worker.start({ type: 'start', config, logFormat, logPort, tls });

  const realtime = openRealtime({
    config,
    apps: ready.apps,
    usage: ready.usage,
    tls,
    timers: systemTimers,
    log,
    logLinesDropped: opened.droppedLines,
    keepUsage: (usage) => worker.post({ type: 'usage', usage }),
    sendWebhookEvents: (events) => worker.post({ type: 'webhook-events', events }),
  });
  parts.defer(() => realtime.stop());
  worker.answerWith(realtime);
  worker.post({ type: 'realtime', state: 'listening' });
  // Runs first when stopping: load balancers must send no more requests to a server that is about to stop.
  parts.defer(() => worker.post({ type: 'realtime', state: 'stopping' }));

  const running = parts.move();
  return {
    channels: realtime.listener,
    push: ready.push,
    admin: ready.admin,
    adminPassword: ready.adminPassword,
    apps: ready.apps,
    createdApp: ready.createdApp,
    instances: ready.instances,
    createdInstance: ready.createdInstance,
    log,
    died: worker.died,
    reload(changed) {
      const certificate = readTls(changed);
      if ((certificate === undefined) !== (tls === undefined)) {
        throw new StartFailed({
          exitCode: 2,
          message: 'tls: turning it on or off needs a restart',
        });
      }
      if (certificate !== undefined) realtime.replaceCertificate(certificate);
      worker.post({ type: 'reload', config: changed, tls: certificate });
    },
    stop: () => running.disposeAsync(),
  };
}

/** Refuses a configuration that needs a part that this version does not have. */
function refuseUnsupported(config: Config): void {
  if (config.engine.type !== 'memory') {
    const message = `engine.type: this version supports only "memory", not "${config.engine.type}"`;
    throw new StartFailed({ exitCode: 2, message });
  }
}

function formatOf({ log }: Config): 'json' | 'text' {
  if (log.format !== 'auto') return log.format;
  return process.stderr.isTTY ? 'text' : 'json';
}

function readTls({ tls }: Config): Certificate | undefined {
  const { certFile, keyFile } = tls;
  if (certFile === null || keyFile === null) return undefined;
  const certificate = {
    cert: readPem('tls.certFile', certFile),
    key: readPem('tls.keyFile', keyFile),
  };
  try {
    createSecureContext(certificate);
  } catch (error) {
    // A listener would throw the same error, but without the settings.
    const why = error instanceof Error ? error.message : String(error);
    const message = `tls.certFile, tls.keyFile: ${certFile} and ${keyFile} are not a PEM certificate and its key: ${why}`;
    throw new StartFailed({ exitCode: 2, message });
  }
  return certificate;
}

function readPem(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartFailed({ exitCode: 2, message: `${setting}: ${file} cannot be read: ${why}` });
  }
}

function openRealtime(options: RealtimeOptions): Realtime {
  try {
    return startRealtime(options);
  } catch (error) {
    throw listenError(error, 'channels', options.config.channels);
  }
}

/** The background loop as the realtime loop sees it. */
class BackgroundWorker {
  readonly died: Promise<string>;
  private readonly worker = new Worker(new URL('./background/worker.ts', import.meta.url));
  private readonly started = Promise.withResolvers<Extract<ToRealtime, { type: 'ready' }>>();
  private readonly stopped = Promise.withResolvers<void>();
  private realtime: Realtime | undefined;

  constructor() {
    const died = Promise.withResolvers<string>();
    this.died = died.promise;
    const fail = (why: string) => {
      this.started.reject(new StartFailed({ exitCode: 1, message: why }));
      this.stopped.resolve();
      died.resolve(why);
    };
    this.worker.onmessage = ({ data }: MessageEvent<ToRealtime>) => this.dispatch(data);
    this.worker.onerror = (event) => fail(`The background thread failed: ${event.message}`);
    this.worker.addEventListener('close', () => fail('The background thread has ended'));
  }

  start(message: Extract<ToBackground, { type: 'start' }>) {
    this.worker.postMessage(message, [message.logPort]);
    return this.started.promise;
  }

  post(message: ToBackground): void {
    this.worker.postMessage(message);
  }

  /** Sets who answers the questions of the background loop. */
  answerWith(realtime: Realtime): void {
    this.realtime = realtime;
  }

  async stop(): Promise<void> {
    this.post({ type: 'stop' });
    await withTimeout(BACKGROUND_STOP_TIMEOUT_MS, this.stopped.promise);
    this.worker.terminate();
  }

  private dispatch(message: ToRealtime): void {
    switch (message.type) {
      case 'ready':
        this.started.resolve(message);
        return;
      case 'failed':
        this.started.reject(new StartFailed(message.fault));
        return;
      case 'apps':
        this.realtime?.replaceApps(message.apps, message.changes);
        return;
      case 'ask':
        this.post({
          type: 'answer',
          number: message.number,
          answer: this.realtime?.answer(message.question),
        });
        return;
      case 'webhook-events-taken':
        this.realtime?.webhookEventsTaken(message.events);
        return;
      case 'push-connections':
        this.realtime?.pushConnectionsAre(message.open);
        return;
      case 'stopped':
        this.stopped.resolve();
        return;
      default:
        message satisfies never;
    }
  }
}
