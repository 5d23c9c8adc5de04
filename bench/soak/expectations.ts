/** Expected messages, each to be received by exactly these clients, once. */
export class Expectations<Hearer> {
  /** Descriptions of the first faults. */
  readonly faults: string[] = [];
  /** How many expected deliveries there were. */
  receivedCount = 0;
  private readonly open = new Map<string, { left: Set<Hearer>; all: () => void }>();
  private readonly waitMaxMs: number;

  constructor(waitMaxMs: number) {
    this.waitMaxMs = waitMaxMs;
  }

  /** Settles when all have received it, or with a fault on timeout. */
  async expect(what: string, hearers: Iterable<Hearer>): Promise<void> {
    const left = new Set(hearers);
    if (left.size === 0) return;
    const received = Promise.withResolvers<void>();
    this.open.set(what, { left, all: received.resolve });
    const timer = setTimeout(() => {
      this.fault(`${left.size} never received: ${what}`);
      received.resolve();
    }, this.waitMaxMs);
    await received.promise;
    clearTimeout(timer);
    this.open.delete(what);
  }

  /** Records a delivery. A duplicate, or one that is not for this client, is a fault. */
  received(what: string, hearer: Hearer): void {
    const expected = this.open.get(what);
    if (expected === undefined || !expected.left.delete(hearer)) {
      return this.fault(`received by somebody whom it was not for, or twice: ${what}`);
    }
    this.receivedCount++;
    if (expected.left.size === 0) expected.all();
  }

  fault(why: string): void {
    if (this.faults.length < FAULTS_KEPT) this.faults.push(why);
  }
}

const FAULTS_KEPT = 20;
