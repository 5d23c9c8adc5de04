import type { App } from '../../channels/app.ts';
import { appWith } from '../../channels/hub.fixture.ts';
import type { PackedAddress } from './addresses/packed-address.ts';
import { ClientConnection } from './connection.ts';
import { ClientConnections } from './connections.ts';

export interface FakeConnectionOptions {
  readonly id?: string;
  readonly app?: App;
  readonly address?: PackedAddress;
  readonly heardAtMs?: number;
  /** Whether its transport has pings. */
  readonly hasPings?: boolean;
}

/** A connection that keeps what it is sent. */
export class FakeConnection extends ClientConnection {
  readonly sent: string[] = [];
  /** What waits for the client. Bytes. */
  waiting = 0;
  isOpen = true;
  readonly transport = 'test';
  private readonly hasPings: boolean;
  /** What a transport does when the connection has closed. */
  onClose: () => void = () => undefined;

  constructor(options: FakeConnectionOptions = {}) {
    const [firstHalf = 0, secondHalf] = (options.id ?? '1.1').split('.').map(Number);
    super({ app: options.app ?? appWith(), firstHalf, secondHalf, address: options.address ?? 1 });
    this.heardAtMs = options.heardAtMs ?? 0;
    this.hasPings = options.hasPings ?? true;
  }

  send(frame: string): void {
    this.sent.push(frame);
  }

  ping(payload: string): boolean {
    if (this.hasPings) this.sent.push(`ping ${payload}`);
    return this.hasPings;
  }

  close(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.sent.push(`closed with ${code}: ${reason}`);
    this.terminate();
  }

  terminate(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.onClose();
  }

  waitingBytes(): number {
    return this.waiting;
  }
}

/** The connections of a server that has these. */
export function connectionsWith(all: readonly ClientConnection[]): ClientConnections {
  const connections = new ClientConnections();
  for (const connection of all) connections.add(connection);
  return connections;
}
