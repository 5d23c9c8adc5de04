import { readFileSync } from 'node:fs';
import type { App } from '../channels/app.ts';
import type { Config } from '../config/schema.ts';
import { LogThread } from '../observability/log-thread.ts';
import { openLog } from '../observability/open-log.ts';
import type { PushInstance } from '../push/model/instance.ts';
import type { Certificate } from '../runtime/certificate.ts';
import type { Log } from '../runtime/ports.ts';
import { systemTimers } from '../runtime/system-timers.ts';
import { withTimeout } from '../runtime/with-timeout.ts';
import type {
  AdminPasswordSource,
  ListenerAddress,
  ToBackground,
  ToRealtime,
} from './link/messages.ts';
import { listenError } from './listen-error.ts';
import { type Realtime, type RealtimeOptions, startRealtime } from './realtime/start.ts';
import { StartFailed } from './start-failed.ts';

/** A server that runs. */
export interface FanfareServer {
  readonly channels: ListenerAddress;
  readonly push: ListenerAddress;
  readonly admin: ListenerAddress;
  readonly adminPassword: AdminPasswordSource;
  /** At the time of the start. */
  readonly apps: readonly App[];
  /** The id of the app that was made because there was none. */
  readonly createdApp: string | undefined;
  /** At the time of the start. */
  readonly instances: readonly PushInstance[];
  /** The id of the instance that was made because there was none. */
  readonly createdInstance: string | undefined;
  readonly log: Log;
  /** Settles only if a part has died, with what an operator must know: the server must then be stopped. */
  readonly died: Promise<string>;
  /** Takes over the apps, the instances and the certificate of another configuration; throws `StartFailed` and keeps what it has. */
  reload(config: Config): void;
  /** Ends everything, last started first. Settles when all of it has ended. */
  stop(): Promise<void>;
}

/** Milliseconds that the background loop may take to end, before its thread is ended. */
const BACKGROUND_STOP_MS = 5000;

/** Starts both loops. Throws `StartFailed` when one cannot start; what had started is stopped then. */
export async function startServer(config: Config): Promise<FanfareServer> {
  refuseUnserved(config);
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
    keepUsage: (usage) => worker.tell({ type: 'usage', usage }),
    sendWebhookEvents: (events) => worker.tell({ type: 'webhook-events', events }),
  });
  parts.defer(() => realtime.stop());
  worker.answerWith(realtime);
  worker.tell({ type: 'realtime', state: 'listening' });
  // Runs first when stopping: a server that is about to go must not be sent more work.
  parts.defer(() => worker.tell({ type: 'realtime', state: 'stopping' }));

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
          message: 'tls: turning it on or off takes a restart',
        });
      }
      if (certificate !== undefined) realtime.replaceCertificate(certificate);
      worker.tell({ type: 'reload', config: changed, tls: certificate });
    },
    stop: () => running.disposeAsync(),
  };
}

/** A part that is configured, and that this version does not have, must not be missing silently. */
function refuseUnserved(config: Config): void {
  if (config.engine.type !== 'memory') {
    const message = `engine.type: this version runs alone, so only "memory" is served, not "${config.engine.type}"`;
    throw new StartFailed({ exitCode: 2, message });
  }
}

function formatOf({ log }: Config): 'json' | 'text' {
  if (log.format !== 'auto') return log.format;
  return process.stderr.isTTY ? 'text' : 'json';
}

function readTls({ tls }: Config): Certificate | undefined {
  if (tls.certFile === null || tls.keyFile === null) return undefined;
  return { cert: readPem('tls.certFile', tls.certFile), key: readPem('tls.keyFile', tls.keyFile) };
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

/** The background loop, from outside: starts it, passes messages, ends it. */
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
    this.worker.onmessage = ({ data }: MessageEvent<ToRealtime>) => this.hear(data);
    this.worker.onerror = (event) => fail(`The background thread failed: ${event.message}`);
    this.worker.addEventListener('close', () => fail('The background thread has ended'));
  }

  start(message: Extract<ToBackground, { type: 'start' }>) {
    this.worker.postMessage(message, [message.logPort]);
    return this.started.promise;
  }

  tell(message: ToBackground): void {
    this.worker.postMessage(message);
  }

  /** Whom the background loop's questions are for, from now on. */
  answerWith(realtime: Realtime): void {
    this.realtime = realtime;
  }

  async stop(): Promise<void> {
    this.tell({ type: 'stop' });
    await withTimeout(BACKGROUND_STOP_MS, this.stopped.promise);
    this.worker.terminate();
  }

  private hear(message: ToRealtime): void {
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
        this.tell({
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
