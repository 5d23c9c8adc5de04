import { appWith } from '../../channels/hub.fixture.ts';
import { Connections } from '../clients/connections.ts';
import type { PackedAddress } from '../clients/packed-address.ts';
import { holdingNothing } from './coalescing/hold-back.fixture.ts';
import { Connection, type Socket } from './connection.ts';

/** A connection that keeps what it is sent, in place of Bun's. */
export interface FakeSocket {
  readonly data: Connection;
  readonly sent: string[];
  /** What waits for the client. Bytes. */
  waiting: number;
}

/** One such socket, as the transport knows it. */
export function fakeSocket(
  heardAtMs = 0,
  id = '1.1',
  address: PackedAddress = 1,
  app = appWith(),
): FakeSocket & { readonly socket: Socket } {
  // Nothing here asks which server it came through.
  const server = undefined as unknown as Connection['server'];
  const [first, second] = id.split('.').map(Number);
  const data = new Connection(app, first ?? 0, server, address, holdingNothing(), second);
  data.heardAtMs = heardAtMs;
  const fake = {
    data,
    sent: [] as string[],
    waiting: 0,
    send: (frame: string) => fake.sent.push(frame),
    getBufferedAmount: () => fake.waiting,
  };
  // Bun's class cannot be constructed; these tests use nothing of it but the above.
  return Object.assign(fake, { socket: fake as unknown as Socket });
}

/** The connections of a server, so many of them. */
export function connectionsOf(fakes: readonly { readonly socket: Socket }[]) {
  const app = appWith();
  const connections = new Connections();
  const ids = new Map<Socket, number>();
  for (const [index, { socket }] of fakes.entries()) {
    const id = index + 1;
    ids.set(socket, id);
    connections.add(id, app, socket, true);
  }
  const remove = (socket: Socket) => {
    const id = ids.get(socket);
    if (id !== undefined) connections.remove(id, app, true);
  };
  return { connections, app, remove };
}
