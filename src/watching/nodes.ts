import type { StreamNode } from './stream.ts';

/** A server without a message for this long is away. Milliseconds. */
const AWAY_MS = 5000;

/** A server that is away for this long is forgotten. Milliseconds. */
const FORGOTTEN_MS = 10 * 60 * 1000;

/** The servers whose events a stream shows: this one, and those that have answered. */
export class Nodes {
  private readonly own: string;
  private readonly heardAtMs = new Map<string, number>();
  private shown = '';

  constructor(own: string) {
    this.own = own;
  }

  seen(node: string, nowMs: number): void {
    this.heardAtMs.set(node, nowMs);
  }

  /** Forgets the other servers: nobody has watched them for a while. */
  clear(): void {
    this.heardAtMs.clear();
    this.shown = '';
  }

  list(nowMs: number): readonly StreamNode[] {
    const others = [...this.heardAtMs].filter(([node, atMs]) => {
      if (nowMs - atMs < FORGOTTEN_MS) return true;
      this.heardAtMs.delete(node);
      return false;
    });
    return [
      { name: this.own, away: false },
      ...others.map(([name, atMs]) => ({ name, away: nowMs - atMs >= AWAY_MS })),
    ];
  }

  /** Returns the list if it differs from that of the last call. */
  changed(nowMs: number): readonly StreamNode[] | undefined {
    const nodes = this.list(nowMs);
    const text = JSON.stringify(nodes);
    if (text === this.shown) return undefined;
    this.shown = text;
    return nodes;
  }
}
