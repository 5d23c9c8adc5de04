import Pusher from 'pusher';
import { APP, type Fanfare, startFanfare } from '../../testing/servers/fanfare.ts';

/** What a node is given: the two services that all nodes share. */
export interface Shared {
  readonly redisUrl: string;
  readonly storeUrl: string;
}

type NodeState = 'starting' | 'up' | 'down';

const ASK_MAX_MS = 1000;
/** Longer than a server waits for Redis, so that its answer arrives. */
const TRIGGER_MAX_MS = 5000;

/** One server of the cluster. It can be killed and started again. */
export class DemoNode implements AsyncDisposable {
  readonly number: number;
  private readonly shared: Shared;
  private server: Fanfare | undefined;
  private library: Pusher | undefined;
  private starting: Promise<void> | undefined;

  constructor(number: number, shared: Shared) {
    this.number = number;
    this.shared = shared;
  }

  get state(): NodeState {
    if (this.server !== undefined) return 'up';
    return this.starting === undefined ? 'down' : 'starting';
  }

  /** The port for clients and backends; `undefined` unless it is up. */
  get port(): number | undefined {
    return this.server?.port;
  }

  /** Starts it, unless it is up or starting. Rejects if it ends at once. */
  async start(): Promise<void> {
    if (this.server !== undefined) return;
    this.starting ??= this.startServer().finally(() => {
      this.starting = undefined;
    });
    await this.starting;
  }

  /** Ends it as a power failure would. */
  kill(): void {
    this.server?.process.kill('SIGKILL');
  }

  /** Asks the node whether it is ready. */
  async readiness(): Promise<string> {
    if (this.server === undefined) return '';
    try {
      const url = `http://127.0.0.1:${this.server.adminPort}/readyz`;
      const response = await fetch(url, { signal: AbortSignal.timeout(ASK_MAX_MS) });
      return `${response.status} ${(await response.text()).trim()}`;
    } catch {
      return 'no answer';
    }
  }

  /** Triggers an event over this node, as a backend does. Returns the status of the answer; 0 without one. */
  async trigger(channel: string, event: string, data: unknown): Promise<number> {
    try {
      return (await this.library?.trigger(channel, event, data))?.status ?? 0;
    } catch (error) {
      return error instanceof Pusher.RequestError ? (error.status ?? 0) : 0;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.starting?.catch(() => undefined);
    await this.server?.[Symbol.asyncDispose]();
  }

  private async startServer(): Promise<void> {
    const { redisUrl, storeUrl } = this.shared;
    const server = await startFanfare({
      threads: 1,
      config: {
        engine: { type: 'redis', url: redisUrl },
        store: { url: storeUrl },
        log: { level: 'warn' },
      },
    });
    this.library = new Pusher({
      appId: APP.id,
      key: APP.key,
      secret: APP.secret,
      host: '127.0.0.1',
      port: String(server.port),
      timeout: TRIGGER_MAX_MS,
    });
    this.server = server;
    void server.process.exited.then(async () => {
      this.server = undefined;
      await server[Symbol.asyncDispose]();
    });
  }
}
