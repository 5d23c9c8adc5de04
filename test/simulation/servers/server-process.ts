import type { App } from '../../../src/channels/app.ts';
import { type Config, configSchema } from '../../../src/config/schema.ts';
import type {
  BackgroundToLoop,
  InitialState,
  LoopToBackground,
} from '../../../src/node/link/messages.ts';
import { PLENTY_BYTES, shareMemory } from '../../../src/node/memory/shares.ts';
import { RealtimeLoops } from '../../../src/node/realtime/realtime-loops.ts';
import { StopTime } from '../../../src/node/stop-time.ts';
import type { Log, LogFields } from '../../../src/runtime/ports.ts';
import { systemTimers } from '../../../src/runtime/system-timers.ts';
import { NO_CLIENT_TLS } from '../../../src/runtime/tls/certificate.ts';
import { Context } from '../kernel/context.ts';
import { ModelledPort } from '../network/message-ports.ts';
import type { Network } from '../network/network.ts';
import { ModelledBackground, type WebhookSink, type WebhookStore } from './background.ts';
import type { OldRelease } from './old-release.ts';
import { setHost, type ThreadHost } from './thread-host.ts';

export interface ServerProcessOptions {
  readonly name: string;
  readonly network: Network;
  /** The number of realtime loops. */
  readonly loops: number;
  /** As in a configuration file. */
  readonly settings: object;
  readonly apps: readonly App[];
  /** What the last stop has saved. */
  readonly histories: Uint8Array | undefined;
  readonly webhooks: WebhookSink;
  /** Of servers that share a store; otherwise each event is new. */
  readonly storeWebhooks?: WebhookStore;
  /** Gets each line of the log that no operator should ever see. */
  readonly onError: (text: string) => void;
  /** The share of a core that the loops seem to use. */
  readonly busyShare: number;
  /** How long an event of a loop takes. Milliseconds. */
  readonly eventMs: number;
  /** What its wall clock is ahead. Milliseconds. */
  readonly clockAheadMs: number;
  /** The release that it runs, with its app as in a configuration file; otherwise the present code. */
  readonly old?: { readonly release: OldRelease; readonly app: object } | undefined;
}

/** A server: all of its realtime loops are the real ones, the rest of the process is modelled. */
export class ServerProcess implements ThreadHost {
  readonly log: Log;
  /** Where it listens, once it does. */
  port: number | undefined;
  /** What its stop has saved. */
  saved: Uint8Array | undefined;
  /** Whether it has ended by itself. */
  hasExited = false;
  private readonly options: ServerProcessOptions;
  private readonly main: Context;
  /** Its threads. */
  readonly contexts = new Set<Context>();
  private readonly background: ModelledBackground;
  private realtime: Pick<RealtimeLoops, 'stop' | 'end'> | undefined;
  private toBackground: ModelledPort | undefined;
  private readonly backgroundStopped = Promise.withResolvers<void>();
  private readonly stopTime = new StopTime();
  private readonly config: Config;

  constructor(options: ServerProcessOptions) {
    this.options = options;
    const { kernel } = options.network;
    this.log = this.openLog();
    this.config = configSchema.parse(options.settings);
    this.background = new ModelledBackground(kernel, options.webhooks, options.storeWebhooks);
    this.main = this.addThread('loop 0');
  }

  addThread(name: string): Context {
    const context = new Context(`${this.options.name} ${name}`);
    context.busyShare = this.options.busyShare;
    context.eventMs = this.options.eventMs;
    context.clockAheadMs = this.options.clockAheadMs;
    context.pausedUntilMs = this.main?.pausedUntilMs ?? 0;
    this.contexts.add(context);
    setHost(context, this);
    return context;
  }

  /** Starts it. Calls back when it listens, or when it has given up. */
  start(onListening: () => void, onFailed: () => void = failed): void {
    const { kernel } = this.options.network;
    const begin = async () => {
      try {
        this.port = await this.open();
      } catch (error) {
        kernel.trace?.(`does not start: ${error}`);
        kernel.after(0, onFailed, kernel.world);
        return;
      }
      onListening();
    };
    kernel.trace?.(`${this.options.name} starts`);
    kernel.after(0, () => void begin(), this.main);
  }

  /** As `SIGTERM` does. Calls back when the process has ended. */
  stop(onExit: () => void): void {
    const { kernel } = this.options.network;
    const stop = async () => {
      this.stopTime.begin(this.config.drainSeconds);
      await this.realtime?.stop();
      await this.stopBackground();
      const { histories } = this.background;
      if (histories.length > 0) this.saved = Buffer.concat(histories);
      await this.realtime?.end();
      this.hasExited = true;
      const exit = () => {
        this.kill();
        onExit();
      };
      kernel.after(0, exit, kernel.world);
    };
    kernel.after(0, () => void stop(), this.main);
  }

  /** Settles when the background loop has committed everything. */
  private async stopBackground(): Promise<void> {
    this.toBackground?.postMessage({ type: 'stop' });
    await this.backgroundStopped.promise;
  }

  /** As `kill -9` does. */
  kill(): void {
    this.options.network.die(this.contexts);
  }

  /** As `SIGSTOP` does, and `SIGCONT` later. */
  pause(untilMs: number): void {
    for (const context of this.contexts) {
      context.pausedUntilMs = Math.max(context.pausedUntilMs, untilMs);
    }
  }

  /** Lets one of its loops stand still, as a long collection of garbage does. */
  pauseLoop(untilMs: number): void {
    const context = this.options.network.kernel.random.pick([...this.contexts]);
    context.pausedUntilMs = Math.max(context.pausedUntilMs, untilMs);
  }

  setClock(aheadMs: number): void {
    for (const context of this.contexts) context.clockAheadMs = aheadMs;
  }

  private async open(): Promise<number> {
    const { loops, network, apps, histories, old } = this.options;
    if (old !== undefined) return await this.openOld(old.release, old.app);
    const { config, background } = this;
    const own = this.addThread('background');
    const ports = Array.from({ length: loops }, () => ModelledPort.pair(network));
    for (const [port] of ports) background.serve(port, own);
    const [first, ...others] = ports.map(([, port]) => port);
    const realtime = new RealtimeLoops(
      {
        config,
        memory: shareMemory({
          memoryBytes: PLENTY_BYTES,
          config,
          threads: loops,
          openFiles: undefined,
        }),
        tls: undefined,
        redisTls: { servers: NO_CLIENT_TLS, sentinels: NO_CLIENT_TLS },
        timers: systemTimers,
        log: this.log,
        logFormat: 'json',
        logLinesDropped: () => 0,
        openLogPort: () => new MessageChannel().port1,
        serverName: this.options.name,
        toBackground: (message) => first?.postMessage(message),
        backgroundPorts: others as unknown as readonly MessagePort[],
      },
      this.initialState(apps, histories),
      this.stopTime,
    );
    this.realtime = realtime;
    this.toBackground = first;
    if (first !== undefined) {
      first.onmessage = ({ data }) => {
        const message = data as BackgroundToLoop | { readonly type: 'stopped' };
        if (message.type === 'stopped') this.backgroundStopped.resolve();
        else realtime.first.receive(message);
      };
    }
    await realtime.openThreads(this.initialState(apps, histories));
    return (await realtime.listen()).port;
  }

  private async openOld(release: OldRelease, app: object): Promise<number> {
    const { network, settings, name } = this.options;
    const [background, port] = ModelledPort.pair(network);
    this.background.serve(background, this.addThread('background'));
    const toBackground = (message: LoopToBackground) => port.postMessage(message);
    const loops = release.open({
      ...{ settings, app, toBackground },
      log: this.log,
      serverName: name,
    });
    this.realtime = { stop: () => loops.stop(), end: async () => undefined };
    this.toBackground = port;
    port.onmessage = ({ data }) => {
      const message = data as BackgroundToLoop | { readonly type: 'stopped' };
      if (message.type === 'stopped') this.backgroundStopped.resolve();
      else release.receive(loops, message, toBackground);
    };
    return (await loops.listen()).port;
  }

  private initialState(apps: readonly App[], histories: Uint8Array | undefined): InitialState {
    return {
      apps: structuredClone(apps),
      revocations: [],
      usage: [],
      histories: histories === undefined ? undefined : sharedCopyOf(histories),
    };
  }

  private openLog(): Log {
    const { kernel } = this.options.network;
    const line =
      (level: string) =>
      (message: string, fields: LogFields = {}) => {
        if (kernel.trace === undefined && level !== 'error') return;
        const text = `${level} ${message} ${JSON.stringify(fields)}`;
        kernel.trace?.(text);
        if (level === 'error') this.options.onError(`${kernel.context.name}: ${text}`);
      };
    return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
  }
}

function failed(): never {
  throw new Error('A server that needs no other does not start');
}

function sharedCopyOf(bytes: Uint8Array): SharedArrayBuffer {
  const shared = new SharedArrayBuffer(bytes.length);
  new Uint8Array(shared).set(bytes);
  return shared;
}
