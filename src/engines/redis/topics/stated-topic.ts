import type { App } from '../../../channels/app.ts';
import type { LoopParts } from '../loop.ts';
import type { Partition } from '../partition.ts';
import type { RestateReason, Stated } from '../restatements.ts';

export interface StatedTopicOptions {
  readonly app: App;
  readonly partition: Partition;
  readonly loop: LoopParts;
}

/** A topic with a stream of its own, of which this loop states what it holds: a channel or a user. */
export abstract class StatedTopic implements Stated {
  readonly topic: string;
  readonly stream: string;
  readonly partition: Partition;
  protected readonly app: App;
  protected readonly loop: LoopParts;
  /** Statements that are not settled. */
  private inFlight = 0;

  constructor(topic: string, { app, partition, loop }: StatedTopicOptions) {
    this.topic = topic;
    this.app = app;
    this.partition = partition;
    this.loop = loop;
    this.stream = partition.streamOf(topic);
  }

  restate(reason: RestateReason): Promise<void> {
    return this.keepUntil(() => this.stateAgain(reason));
  }

  abstract complete(): void;

  /** Whether the authority knows what was stated last. */
  protected get isStated(): boolean {
    return this.inFlight === 0 && !this.partition.unsure.has(this);
  }

  protected abstract stateAgain(reason: RestateReason): Promise<void>;

  /** States something. Never fails: if stating is impossible now, a later tick does it. */
  protected async stateSoon(state: () => Promise<void>): Promise<void> {
    if (this.partition.isReady) await this.keepUntil(state).catch(() => undefined);
    else this.partition.unsure.add(this);
  }

  /** Runs a statement. The topic is not idle before it is known whether the statement has arrived. */
  private async keepUntil(state: () => Promise<void>): Promise<void> {
    this.inFlight++;
    try {
      await state();
    } catch (error) {
      this.partition.unsure.add(this);
      throw error;
    } finally {
      this.inFlight--;
    }
  }
}
