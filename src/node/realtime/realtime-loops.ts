import { listenPort } from '../../runtime/listen-host.ts';
import { withTimeout } from '../../runtime/system-timers.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import { freeSocketPath } from '../free-socket-path.ts';
import { shareLoopCounts } from '../link/loop-counts.ts';
import { LoopLinks, linkLoops } from '../link/loop-links.ts';
import { createLoopTotals, type LoopTotals } from '../link/loop-totals.ts';
import type {
  InitialState,
  ListenerAddress,
  RealtimeStart,
  ToRealtimeThread,
} from '../link/messages.ts';
import { listenError } from '../listen-error.ts';
import { PortLock } from '../port-lock.ts';
import { StartFailed } from '../start-failed.ts';
import type { StopTime } from '../stop-time.ts';
import type { RealtimeOptions } from './loop-base.ts';
import { RealtimeLoop } from './realtime-loop.ts';
import { RealtimeThread } from './realtime-thread.ts';

/** The time for a command of a stop, in addition to the drain time. Milliseconds. */
const COMMAND_MS = 5000;

/** The time to learn from Redis whether there are other servers. Milliseconds. */
const ASK_MS = 200;

/** The time for clients to leave their channels after a drain. Most have left long before. Milliseconds. */
const DEPARTURES_MS = 100;

/** The time of all loops to close the sockets of clients that had to wait for the end. Milliseconds. */
const DISMISS_MS = 500;

type StopCommand = Extract<
  ToRealtimeThread,
  { readonly type: 'drain' | 'retire' | 'stop-listening' | 'depart' | 'close' | 'dismiss' }
>;

export interface RealtimeLoopsOptions extends RealtimeOptions {
  readonly logFormat: RealtimeStart['logFormat'];
  /** One per loop except the first. */
  readonly backgroundPorts: readonly MessagePort[];
  readonly openLogPort: () => MessagePort;
}

/** All realtime loops of this process: the first on the main thread, each other loop on its own thread. */
export class RealtimeLoops {
  /** The loop of the main thread. */
  readonly first: RealtimeLoop;
  /** Settles only if a thread has died, with the reason. */
  readonly died: Promise<string>;
  private readonly options: RealtimeLoopsOptions;
  private readonly threads: RealtimeThread[] = [];
  private readonly ports: ReturnType<typeof linkLoops>;
  private readonly countedTogether: LoopTotals;
  private readonly counts: SharedArrayBuffer;
  private portLock: PortLock | undefined;
  private readonly reportDeath: (why: string) => void;
  private readonly stopTime: StopTime;
  private isAlone = false;

  /** Opens the first loop. */
  constructor(options: RealtimeLoopsOptions, initial: InitialState, stopTime: StopTime) {
    this.options = options;
    this.stopTime = stopTime;
    const died = Promise.withResolvers<string>();
    this.died = died.promise;
    this.reportDeath = died.resolve;
    const count = 1 + options.backgroundPorts.length;
    this.ports = linkLoops(count);
    this.countedTogether = createLoopTotals(count);
    this.counts = shareLoopCounts(count);
    const links = new LoopLinks({ index: 0, ports: this.ports[0] ?? [], counts: this.counts });
    const { countedTogether } = this;
    this.first = new RealtimeLoop({ ...options, links, countedTogether }, initial);
  }

  /** Opens the other loops one after the other: starting many threads at once under load has crashed Bun. */
  async openThreads(initial: InitialState): Promise<void> {
    const { config, memory, logFormat, backgroundPorts, openLogPort } = this.options;
    const { tls, redisTls, serverName } = this.options;
    for (const [place, backgroundPort] of backgroundPorts.entries()) {
      const index = place + 1;
      const thread = new RealtimeThread(index);
      this.threads.push(thread);
      void thread.died.then(this.reportDeath);
      const opened = thread.open({
        config,
        memory,
        index,
        logFormat,
        logPort: openLogPort(),
        backgroundPort,
        loopPorts: this.ports[index] ?? [],
        countedTogether: this.countedTogether,
        serverName,
        counts: this.counts,
        initial,
        tls,
        redisTls,
      });
      await Promise.race([opened, thread.died.then(failStart)]);
    }
  }

  /** Makes all loops listen on the same port. Throws `StartFailed` if it cannot be opened. */
  async listen(): Promise<ListenerAddress> {
    const { channels } = this.options.config;
    await this.first.connect();
    await Promise.all(this.threads.map((thread) => thread.command({ type: 'connect' })));
    let listener: ListenerAddress;
    await freeSocketPath('channels', channels);
    // A port that the kernel chooses is free.
    if (this.threads.length > 0 && channels.port > 0) {
      this.portLock = await PortLock.take('channels', channels);
    }
    try {
      listener = this.first.listen(listenPort(channels));
    } catch (error) {
      throw listenError(error, 'channels', channels);
    }
    // The others use the port that the first loop got, since the setting may be 0.
    const { port } = listener;
    await Promise.all(this.threads.map((thread) => thread.command({ type: 'listen', port })));
    return listener;
  }

  /** Sets the certificate of new connections. Rejects, and keeps the old one in all loops, if it cannot be used. */
  async replaceCertificate(tls: Certificate): Promise<void> {
    this.first.replaceCertificate(tls);
    await Promise.all(this.threads.map((thread) => thread.command({ type: 'certificate', tls })));
  }

  /**
   * Lets all connections end, and hands over the state of all loops. If there is another server, connections are closed over the drain
   * time, and then all loops stop listening at the same moment. Otherwise clients could only wait for the next start, so
   * their sockets stay open until `end`.
   */
  async stop(): Promise<void> {
    const { first, stopTime } = this;
    const asked = first.isAlone().then((isAlone) => {
      this.isAlone = isAlone;
    });
    await withTimeout(ASK_MS, asked);
    if (this.isAlone) {
      await this.all({ type: 'retire' }, () => first.retire(), stopTime.left(COMMAND_MS));
    } else {
      const drainMs = this.options.config.drainSeconds * 1000;
      await this.all({ type: 'drain' }, () => first.drain(), stopTime.left(drainMs + COMMAND_MS));
      // A loop without connections must still answer the others until they have none, either.
      const stopListening = () => first.stopListening();
      await this.all({ type: 'stop-listening' }, stopListening, stopTime.left(COMMAND_MS));
    }
    const maxMs = this.isAlone ? stopTime.left(COMMAND_MS) / 2 : DEPARTURES_MS;
    await this.all({ type: 'depart', maxMs }, () => first.depart(maxMs), stopTime.left(COMMAND_MS));
    // When all have left: a loop that has closed reports nobody who leaves a channel whose home it is.
    await this.all({ type: 'close' }, () => first.close(), stopTime.left(COMMAND_MS));
  }

  /** Called last, when everything else has stopped. The process must end then. */
  async end(): Promise<void> {
    if (this.isAlone) await this.all({ type: 'dismiss' }, () => this.first.dismiss(), DISMISS_MS);
    // Another server may take the port.
    this.portLock?.[Symbol.dispose]();
    for (const thread of this.threads) thread.terminate();
  }

  /** Runs a command in all loops. A thread that has died cannot run it; the others can. */
  private async all(
    command: StopCommand,
    inFirst: () => Promise<void> | void,
    maxMs: number,
  ): Promise<void> {
    const inThreads = this.threads.map((thread) => thread.command(command));
    await withTimeout(maxMs, Promise.allSettled([...inThreads, inFirst()]));
  }
}

function failStart(why: string): never {
  throw new StartFailed({ exitCode: 1, message: why });
}
