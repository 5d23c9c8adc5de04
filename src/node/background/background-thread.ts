import type { Config } from '../../config/schema.ts';
import { withTimeout } from '../../runtime/system-timers.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import type {
  BackgroundToLoop,
  FromBackground,
  ListenerAddress,
  ToBackground,
} from '../link/messages.ts';
import { StartFailed } from '../start-failed.ts';
import type { StopTime } from '../stop-time.ts';
import type { TlsFiles } from '../tls-files.ts';

/** If the background loop does not stop within this time, its thread is terminated. */
const STOP_TIMEOUT_MS = 5000;

/** The background loop, seen from the main thread. */
export class BackgroundThread {
  /** Settles only if the thread has died, with the reason. */
  readonly died: Promise<string>;
  private readonly worker = new Worker(new URL('./worker.ts', import.meta.url));
  private readonly started = Promise.withResolvers<Extract<FromBackground, { type: 'ready' }>>();
  private readonly listeningNoted = Promise.withResolvers<void>();
  private readonly stopped = Promise.withResolvers<void>();
  private readonly reloading = new Map<number, () => void>();
  private reloads = 0;
  /** Called with each new certificate for the channels listener. */
  onCertificate: (tls: Certificate) => void = () => undefined;
  private histories: SharedArrayBuffer | undefined;
  private receive: ((message: BackgroundToLoop) => void) | undefined;
  private readonly stopTime: StopTime;

  constructor(stopTime: StopTime) {
    this.stopTime = stopTime;
    const died = Promise.withResolvers<string>();
    this.died = died.promise;
    const fail = (why: string) => {
      this.started.reject(new StartFailed({ exitCode: 1, message: why }));
      this.listeningNoted.resolve();
      this.stopped.resolve();
      died.resolve(why);
    };
    this.worker.onmessage = ({ data }: MessageEvent<FromBackground>) => this.dispatch(data);
    this.worker.onerror = (event) => fail(`The background thread failed: ${event.message}`);
    this.worker.addEventListener('close', () => fail('The background thread has ended'));
  }

  start(message: Extract<ToBackground, { type: 'start' }>) {
    this.worker.postMessage(message, [message.logPort, ...message.loopPorts]);
    return this.started.promise;
  }

  post(message: ToBackground): void {
    this.worker.postMessage(message);
  }

  /** Announces that clients can connect. Settles when the readiness check knows it, or the thread has died. */
  announceListening(channels: ListenerAddress): Promise<void> {
    this.post({ type: 'realtime', state: 'listening', channels });
    return this.listeningNoted.promise;
  }

  /** Applies a reloaded configuration. Settles when all loops serve it, or the thread has died. */
  async reload(config: Config, tlsFiles: TlsFiles): Promise<void> {
    const number = ++this.reloads;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.reloading.set(number, resolve);
    this.post({ type: 'reload', number, config, tlsFiles });
    await Promise.race([promise, this.died]);
  }

  /** Returns the histories that the last stop saved. Works once, because they may be large. */
  takeHistories(): SharedArrayBuffer | undefined {
    const { histories } = this;
    this.histories = undefined;
    return histories;
  }

  /** Sets who receives messages to the realtime loop of the main thread. */
  setReceiver(receive: (message: BackgroundToLoop) => void): void {
    this.receive = receive;
  }

  async stop(): Promise<void> {
    this.post({ type: 'stop' });
    await withTimeout(this.stopTime.left(STOP_TIMEOUT_MS), this.stopped.promise);
    this.worker.terminate();
  }

  private dispatch(message: FromBackground): void {
    switch (message.type) {
      case 'ready':
        this.started.resolve(message);
        return;
      case 'failed':
        this.started.reject(new StartFailed(message.fault));
        return;
      case 'listening-noted':
        this.listeningNoted.resolve();
        return;
      case 'reloaded':
        this.reloading.get(message.number)?.();
        this.reloading.delete(message.number);
        return;
      case 'stopped':
        this.stopped.resolve();
        return;
      case 'saved-histories':
        this.histories = message.saved;
        return;
      case 'certificate':
        this.onCertificate(message.tls);
        return;
      default:
        this.receive?.(message);
    }
  }
}
