import { listenError } from './listen-error.ts';
import { StartFailed } from './start-failed.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

/** How long a server that has the lock may take to say its process id. Milliseconds. */
const ANSWER_TIMEOUT_MS = 1000;

/** After this time, the server that has the lock ends a connection. Seconds. */
const CONNECTION_SECONDS = 4;

/**
 * Locks a port that several threads share. The kernel lets any process of the same user share such a port, so a second server
 * would take half of the connections. Linux only, like sharing a port.
 *
 * The lock is a Unix socket with an abstract name. The kernel keeps these names in the network namespace, as it does with
 * ports, and removes them with the process. A process that connects to it gets the process id of the server.
 */
export class PortLock implements Disposable {
  private readonly listener: { stop(closeActiveConnections?: boolean): void };

  private constructor(name: string) {
    this.listener = Bun.listen({
      unix: name,
      socket: {
        open(socket) {
          // The other side ends the connection: it would not see text that comes together with the end.
          socket.timeout(CONNECTION_SECONDS);
          socket.write(String(process.pid));
        },
        timeout: (socket) => void socket.terminate(),
        // Bun wants a handler.
        data: () => undefined,
      },
    });
  }

  /** Takes the lock. Throws `StartFailed` if another server has it, or another program the port. */
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

/** Throws Bun's error if any program listens on the port: without sharing, the kernel refuses a second listener. */
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
  const where = `${address.host}:${address.port} (${setting}.host, ${setting}.port)`;
  const who = id === undefined ? 'another Fanfare server' : `Fanfare, process ${id}`;
  return new StartFailed(
    { exitCode: 1, message: `${where} is in use by ${who}` },
    { cause: error },
  );
}

/** Asks the server that has the lock for its process id; `undefined` if it does not answer. */
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
    // The server has just ended, or another program has this name.
  }).catch(unknown);
  const timer = setTimeout(unknown, ANSWER_TIMEOUT_MS);
  const text = await promise;
  clearTimeout(timer);
  return text !== undefined && /^\d+$/.test(text) ? text : undefined;
}
