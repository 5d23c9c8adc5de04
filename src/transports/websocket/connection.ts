import type { Server, ServerWebSocket } from 'bun';
import type { Session } from '../../channels/session.ts';
import type { Admission } from './admission.ts';

/** What belongs to one connection; Bun keeps it beside the socket. */
export class Connection {
  readonly admission: Admission;
  readonly server: Server<Connection>;
  readonly address: string;
  readonly port: number;
  /** `undefined` where the connection was refused. */
  session: Session | undefined;
  /** When the client was last heard of. Milliseconds since 1970. */
  heardAt = 0;
  /** When it must have been authorised; 0 where it need not be, or is. Milliseconds since 1970. */
  authoriseByMs = 0;
  /** Whether it was asked if it is still there, and has not answered. */
  pinged = false;

  constructor(admission: Admission, server: Server<Connection>, address: string, port: number) {
    this.admission = admission;
    this.server = server;
    this.address = address;
    this.port = port;
  }
}

export type Socket = ServerWebSocket<Connection>;
