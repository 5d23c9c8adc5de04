import type { AppAddress } from '../../bench-app.ts';
import type { KernelSockets } from '../kernel-sockets.ts';
import type { Tally } from '../tally.ts';
import { SessionClient, type SessionOwner } from './session-client.ts';

/** How many connect at the same time. */
const CONNECTING_MAX = 100;
const GATHERED_WITHIN_MS = 60_000;

/** The number of an event, however deeply it is nested in strings. */
const SEQUENCE = /seq[^0-9]{1,20}([0-9]{8})/g;

/** How many clients use each of the HTTP transports. */
export interface FallbackSize {
  readonly streaming: number;
  readonly polling: number;
}

/** Clients over the HTTP transports. */
export class FallbackCrowd implements SessionOwner {
  /** Where deliveries are counted; nowhere between steps. */
  tally: Tally | undefined;
  private readonly app: AppAddress;
  private readonly sockets: KernelSockets;
  private readonly present = new Set<SessionClient>();
  private connecting = 0;

  constructor(app: AppAddress, sockets: KernelSockets) {
    this.app = app;
    this.sockets = sockets;
  }

  get size(): number {
    return this.present.size;
  }

  /**
   * Disconnects the present clients, and connects as many as given. Returns when every subscription is confirmed.
   * Channels are assigned in turn.
   */
  gather({ streaming, polling }: FallbackSize, channels: readonly string[]): void {
    const { app, sockets } = this;
    for (const client of this.present) client.leave();
    this.present.clear();
    const deadlineMs = performance.now() + GATHERED_WITHIN_MS;
    for (let next = 0; next < streaming + polling || this.connecting > 0; ) {
      if (performance.now() > deadlineMs) {
        throw new Error(`${this.connecting} sessions were not subscribed in time`);
      }
      for (; this.connecting < CONNECTING_MAX && next < streaming + polling; next += 1) {
        const transport = next < streaming ? 'xhr_streaming' : 'xhr';
        const channel = channels[next % channels.length] ?? '';
        this.connecting += 1;
        new SessionClient({ app, sockets, owner: this, transport, channel });
      }
      sockets.poll(10);
    }
  }

  subscribed(client: SessionClient): void {
    this.connecting -= 1;
    this.present.add(client);
  }

  received(line: string): void {
    const { tally } = this;
    if (tally === undefined) return;
    const nowMs = performance.now();
    for (const [, digits] of line.matchAll(SEQUENCE)) tally.arrived(Number(digits), nowMs);
  }

  lost(_client: SessionClient, why: string): void {
    throw new Error(`a session was lost: ${why}`);
  }
}
