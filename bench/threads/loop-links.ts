import type { ChannelText } from '../../src/channels/channel-name.ts';
import { shareLoopCounts } from '../../src/node/link/loop-counts.ts';
import { LoopLinks, linkLoops } from '../../src/node/link/loop-links.ts';
import type { LoopMessage } from '../../src/node/link/messages.ts';

const WARM_UP_ROUNDS = 200;
const IDLE_ROUNDS = 1000;
/** The pause between two rounds on idle loops. */
const PAUSE_MS = 2;
const BUSY_MESSAGES = 100_000;
const PER_TURN = [1, 10, 100];

/** The cost of the links between two otherwise idle loops. */
export interface LinkFigures {
  /** From one idle loop to another. */
  readonly oneWayP50Ms: number;
  readonly oneWayP99Ms: number;
  readonly busy: readonly {
    /** Messages that are sent in the same turn of the event loop. */
    readonly perTurn: number;
    readonly messagesPerSecond: number;
    /** CPU time of both loops per message. Microseconds. */
    readonly us: number;
  }[];
}

/** Measures the links between realtime loops without servers: this thread is one loop, and a worker is the other. */
export async function measureLinks(): Promise<LinkFigures> {
  await using other = await EchoLoop.start();
  for (let round = 0; round < WARM_UP_ROUNDS; round++) await other.echo(10);

  const oneWaysMs: number[] = [];
  for (let round = 0; round < IDLE_ROUNDS; round++) {
    oneWaysMs.push((await other.echo(1)) / 2);
    await Bun.sleep(PAUSE_MS);
  }
  oneWaysMs.sort((a, b) => a - b);
  const at = (share: number) => oneWaysMs[Math.floor(share * IDLE_ROUNDS)] ?? Number.NaN;

  const busy: LinkFigures['busy'][number][] = [];
  for (const perTurn of PER_TURN) {
    const turns = BUSY_MESSAGES / perTurn;
    const before = process.cpuUsage();
    const startMs = performance.now();
    for (let turn = 0; turn < turns; turn++) await other.echo(perTurn);
    const seconds = (performance.now() - startMs) / 1000;
    const { user, system } = process.cpuUsage(before);
    // Each goes to the other loop and back.
    const crossings = 2 * BUSY_MESSAGES;
    busy.push({
      perTurn,
      messagesPerSecond: crossings / seconds,
      us: (user + system) / crossings,
    });
  }
  return { oneWayP50Ms: at(0.5), oneWayP99Ms: at(0.99), busy };
}

const message: LoopMessage = [
  'broadcast',
  'app',
  'private-news' as ChannelText,
  'x'.repeat(200),
  undefined,
  'backend',
];

/** Another loop, which sends every message back. */
class EchoLoop implements AsyncDisposable {
  private readonly worker: Worker;
  private readonly links: LoopLinks;
  private left = 0;
  private finished: (() => void) | undefined;

  static async start(): Promise<EchoLoop> {
    const worker = new Worker(new URL('./echo-loop.ts', import.meta.url));
    await new Promise((resolve) => worker.addEventListener('message', resolve, { once: true }));
    return new EchoLoop(worker);
  }

  private constructor(worker: Worker) {
    this.worker = worker;
    const [ports = [], portsOfOther = []] = linkLoops(2);
    const counts = shareLoopCounts(2);
    this.links = new LoopLinks({ index: 0, ports, counts });
    this.links.receive((_, messages) => {
      this.left -= messages.length;
      if (this.left === 0) this.finished?.();
    });
    worker.postMessage(
      { index: 1, ports: portsOfOther, counts },
      portsOfOther.filter((port) => port !== undefined),
    );
  }

  /** Sends messages in one turn and waits until all are back. Returns the time. Milliseconds. */
  async echo(messages: number): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = resolve;
    this.left = messages;
    const startMs = performance.now();
    for (let n = 0; n < messages; n++) this.links.send(1, message);
    await promise;
    return performance.now() - startMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.links[Symbol.dispose]();
    this.worker.terminate();
  }
}
