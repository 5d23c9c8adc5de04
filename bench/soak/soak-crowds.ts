import { ruleNames } from '../../src/verify/check/verdict.ts';
import { Random } from '../../testing/random.ts';
import type { AppAddress } from '../bench-app.ts';
import { type SoakRun, soakRun } from './soak-run.ts';

/** The clients of one crowd: they share its channels. */
const CLIENTS = 20;

/** How long a crowd stays before another one comes in its place. Seconds. */
const STAY_MIN_SECONDS = 20;
const STAY_MAX_SECONDS = 40;

/** Crowds begin within this time, so that not all of them leave at the same moment. Milliseconds. */
const GATHERING_MS = 10_000;

/** The rules that a crowd without webhooks and push tries. */
const TRIED = ruleNames.filter((name) => !['webhooks', 'pushes', 'live'].includes(name));

/** Crowds beside one another, each with channels and users of its own, and after each of them the next one. */
export class SoakCrowds {
  /** What is not as promised. */
  readonly problems: string[] = [];
  /** How much the crowds did that have gone. */
  readonly done = { crowds: 0, connections: 0, triggers: 0, deliveries: 0 };
  private readonly checked = new Map(TRIED.map((name) => [name, 0]));
  private readonly app: AppAddress;
  private readonly places: number;
  private readonly random = new Random(Date.now());
  private readonly stop = new AbortController();
  private begun = 0;
  private isOver = false;
  private running: readonly Promise<void>[] = [];

  constructor(app: AppAddress, connections: number) {
    this.app = app;
    this.places = Math.max(1, Math.round(connections / CLIENTS));
  }

  /** Settles when all crowds are there. */
  async begin(): Promise<void> {
    this.running = Array.from({ length: this.places }, async (_, place) => {
      await Bun.sleep((GATHERING_MS * place) / this.places);
      await this.follow();
    });
    await Bun.sleep(GATHERING_MS);
  }

  /** Lets no more crowds come. Settles when the last one has gone. */
  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.running);
    for (const [name, times] of this.checked) {
      if (times === 0) this.problems.push(`${name} was not tried`);
    }
  }

  /** Lets one crowd follow the other. */
  private async follow(): Promise<void> {
    while (!this.isOver && this.problems.length === 0) {
      const run = await soakRun({
        app: this.app,
        number: ++this.begun,
        clients: CLIENTS,
        seconds: this.random.between(STAY_MIN_SECONDS, STAY_MAX_SECONDS),
        stop: this.stop.signal,
      });
      this.add(run);
    }
  }

  private add({ verdict, connections, problems }: SoakRun): void {
    const { done, checked } = this;
    done.crowds++;
    done.connections += connections;
    done.triggers += verdict.triggers;
    done.deliveries += verdict.deliveries;
    for (const [name, times] of checked) checked.set(name, times + verdict.rules[name].checked);
    this.problems.push(...problems);
    if (problems.length > 0) this.stop.abort();
  }
}
