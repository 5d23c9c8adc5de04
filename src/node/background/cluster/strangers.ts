import type { Installation } from '../../../asking/facts/servers.ts';
import type { Log, Timers } from '../../../runtime/ports.ts';
import { differenceOf, readInstallation } from './installation.ts';

export interface StrangersOptions {
  readonly own: () => Promise<Installation | undefined>;
  /** Asks a server again what it belongs to. */
  readonly ask: (node: string) => Promise<unknown>;
  readonly timers: Timers;
  readonly log: Pick<Log, 'warn'>;
}

/** A server of another installation. */
export interface Stranger {
  readonly node: string;
  readonly why: string;
  readonly sinceMs: number;
}

/**
 * Servers without a common database are known by their apps. While these are replaced on one server after the other, two of
 * them may have none in common, so such a difference must last.
 */
const CONFIRMED_MS = 10 * 60_000;

/** The limit of servers to remember. */
const KNOWN_MAX = 256;

/** The servers of other installations that use the same Redis under the same names. */
export class Strangers {
  private readonly options: StrangersOptions;
  private readonly known = new Map<string, Stranger>();
  private readonly doubted = new Set<string>();

  constructor(options: StrangersOptions) {
    this.options = options;
  }

  list(): readonly Stranger[] {
    return [...this.known.values()];
  }

  /** Compares what another server says of its installation with our own. Says nothing if either is unknown. */
  async meet(node: string, said: unknown): Promise<void> {
    const other = readInstallation(said);
    if (other === undefined) return;
    const own = await this.options.own();
    if (own === undefined) return;
    const why = differenceOf(own, other);
    if (why === undefined) this.forget(node);
    else if ('apps' in own && 'apps' in other) this.doubt(node, why);
    else this.note(node, why);
  }

  private forget(node: string): void {
    this.known.delete(node);
    this.doubted.delete(node);
  }

  /** Asks once more after a while. */
  private doubt(node: string, why: string): void {
    if (this.doubted.has(node) || this.doubted.size >= KNOWN_MAX) return;
    this.doubted.add(node);
    this.options.timers.after(CONFIRMED_MS, () => void this.confirm(node, why));
  }

  private async confirm(node: string, why: string): Promise<void> {
    if (!this.doubted.has(node)) return;
    const [own, said] = await Promise.all([this.options.own(), this.options.ask(node)]);
    this.doubted.delete(node);
    const other = readInstallation(said);
    if (own !== undefined && other !== undefined && differenceOf(own, other) === why) {
      this.note(node, why);
    }
  }

  private note(node: string, why: string): void {
    if (this.known.has(node) || this.known.size >= KNOWN_MAX) return;
    const { timers, log } = this.options;
    this.known.set(node, { node, why, sinceMs: timers.now() });
    log.warn('Another installation uses this Redis under the same names', { server: node, why });
  }
}
