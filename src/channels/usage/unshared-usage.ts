/** The rates of an app that hold for all loops together. */
export type RatedRequest = 'triggers' | 'queries';

/** Messages by the party that caused them. */
interface Messages {
  backend: number;
  clients: number;
}

/** What one loop has taken from the quota and the rates of an app. */
export interface TakenUsage {
  readonly appId: string;
  /** Days since 1970, UTC. */
  readonly day: number;
  readonly messages: Readonly<Messages>;
  readonly requests: Readonly<Record<RatedRequest, number>>;
}

interface Tally {
  day: number;
  readonly messages: Messages;
  readonly requests: Record<RatedRequest, number>;
}

/**
 * What all loops together may take before they share it: a tenth of a second's worth of a rate, or a tenth of what is
 * left of a quota.
 */
const UNKNOWN_SHARE = 1 / 10;

export interface UnsharedUsageOptions {
  /** Returns the number of loops. */
  readonly loops: () => number;
  /** Called when other loops should soon know what this one has taken. */
  readonly shareSoon: () => void;
}

/** What this loop has taken and the other loops do not know yet. */
export class UnsharedUsage {
  private readonly options: UnsharedUsageOptions;
  private tallies = new Map<string, Tally>();

  constructor(options: UnsharedUsageOptions) {
    this.options = options;
  }

  countMessages(appId: string, day: number, messages: Partial<Messages>): void {
    const tally = this.tallyOf(appId);
    if (tally.day !== day) {
      // Yesterday's quota no longer matters.
      tally.day = day;
      tally.messages.backend = 0;
      tally.messages.clients = 0;
    }
    tally.messages.backend += messages.backend ?? 0;
    tally.messages.clients += messages.clients ?? 0;
  }

  /** Shares soon if the loops may have taken a large part of what is `left` of the app's message quota. */
  checkQuota(appId: string, left: number): void {
    const unshared = this.tallies.get(appId)?.messages.backend ?? 0;
    // Beyond the quota, the other loops refuse already.
    if (left >= 0 && this.isLarge(unshared, left)) this.options.shareSoon();
  }

  /** `limit`: requests per second that all loops together may take. */
  countRequests(appId: string, kind: RatedRequest, { requests, limit }: Requests): void {
    const tally = this.tallyOf(appId);
    tally.requests[kind] += requests;
    if (this.isLarge(tally.requests[kind], limit)) this.options.shareSoon();
  }

  /** Returns what the other loops must know. Each amount is returned once. */
  take(): readonly TakenUsage[] {
    if (this.tallies.size === 0) return [];
    const taken = Array.from(this.tallies, ([appId, tally]) => ({ appId, ...tally }));
    this.tallies = new Map();
    return taken;
  }

  private isLarge(unshared: number, left: number): boolean {
    return unshared >= (left * UNKNOWN_SHARE) / this.options.loops();
  }

  private tallyOf(appId: string): Tally {
    let tally = this.tallies.get(appId);
    if (tally === undefined) {
      tally = {
        day: 0,
        messages: { backend: 0, clients: 0 },
        requests: { triggers: 0, queries: 0 },
      };
      this.tallies.set(appId, tally);
    }
    return tally;
  }
}

interface Requests {
  readonly requests: number;
  readonly limit: number;
}
