import { listenPlace } from '../runtime/listen-host.ts';
import { withTimeout } from '../runtime/system-timers.ts';
import { listenError } from './listen-error.ts';
import { StartFailed } from './start-failed.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** How long the server that holds the lock may take to send its process id. Milliseconds. */
const ANSWER_TIMEOUT_MS = 1000;

/** The server that holds the lock closes a connection after this time. Seconds. */
const CONNECTION_SECONDS = 4;

/**
 * Locks a port that several threads share. The kernel lets any process of the same user share such a port, so without
 * a lock a second server would take half of the connections. Linux only, like port sharing.
 *
 * The lock is a Unix socket with an abstract name. The kernel keeps such names per network namespace, as it does for
 * ports, and removes them with the process. A process that connects to the socket is sent the process id of the
 * server.
 */
export class PortLock implements Disposable {
  private readonly listener: { stop(closeActiveConnections?: boolean): void };

  private constructor(name: string) {
    this.listener = Bun.listen({
      unix: name,
      socket: {
        open(socket) {
          // The client closes the connection: it would not see text that arrives together with the end.
          socket.timeout(CONNECTION_SECONDS);
          socket.write(String(process.pid));
        },
        timeout: (socket) => void socket.terminate(),
        // Bun requires a handler.
        data: () => undefined,
      },
    });
  }

  /** Takes the lock. Throws `StartFailed` if another server holds it, or if another program uses the port. */
  static async take(setting: string, address: Address): Promise<PortLock> {
    const name = `\0fanfare-port:${address.host}:${address.port}`;
    let lock: PortLock;
    try {
      lock = new PortLock(name);
    } catch (error) {
      throw await inUse(setting, { address, name, error });
    }
    try {
      refuseIfTaken(address);
    } catch (error) {
      lock[Symbol.dispose]();
      throw listenError(error, setting, address);
    }
    return lock;
  }

  [Symbol.dispose](): void {
    this.listener.stop(true);
  }
}

/** Throws Bun's error if a program listens on the port: without sharing, the kernel refuses a second listener. */
function refuseIfTaken({ host, port }: Address): void {
  Bun.listen({ hostname: host, port, socket: { data: () => undefined } }).stop(true);
}

interface Taken {
  readonly address: Address;
  readonly name: string;
  readonly error: unknown;
}

async function inUse(setting: string, { address, name, error }: Taken): Promise<StartFailed> {
  const id = await processThatHas(name);
  const who = id === undefined ? 'another Fanfare server' : `Fanfare, process ${id}`;
  return new StartFailed(
    { exitCode: 1, message: `${listenPlace(setting, address)} is in use by ${who}` },
    { cause: error },
  );
}

/** Asks the server that holds the lock for its process id; `undefined` if it does not answer. */
async function processThatHas(name: string): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const unknown = () => resolve(undefined);
  Bun.connect({
    unix: name,
    socket: {
      data(socket, bytes) {
        resolve(bytes.toString());
        socket.end();
      },
      close: unknown,
      error: unknown,
    },
    // The server has just stopped, or another program uses this name.
  }).catch(unknown);
  const text = await withTimeout(ANSWER_TIMEOUT_MS, promise);
  return text !== undefined && /^\d+$/.test(text) ? text : undefined;
}
