import { RedisAway, type Reply } from '../link/reply.ts';

export interface PendingAsksMax {
  readonly count: number;
  readonly characters: number;
}

interface One {
  readonly characters: number;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

/** What another loop was asked for, and has not answered. */
export class PendingAsks {
  private readonly max: PendingAsksMax;
  private readonly all = new Map<number, One>();
  private characters = 0;

  constructor(max: PendingAsksMax) {
    this.max = max;
  }

  get count(): number {
    return this.all.size;
  }

  /** Whether there is room for one more of this size. */
  fits(characters: number): boolean {
    return this.all.size < this.max.count && this.characters + characters <= this.max.characters;
  }

  add(number: number, characters: number): Promise<Reply> {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.all.set(number, { characters, resolve, reject });
    this.characters += characters;
    return promise;
  }

  take(number: number): One | undefined {
    const one = this.all.get(number);
    this.all.delete(number);
    this.characters -= one?.characters ?? 0;
    return one;
  }

  /** Rejects all of them. */
  close(): void {
    for (const { reject } of this.all.values()) {
      reject(new RedisAway('the server is stopping', true));
    }
    this.all.clear();
    this.characters = 0;
  }
}
