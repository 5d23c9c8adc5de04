import { messageOf } from '../../runtime/error-code.ts';

/** Linux, every architecture that Bun has. */
const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0x8_0000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const CLOCK_MONOTONIC = 1;

/** The longest name of a Unix socket, in bytes. */
const NAME_BYTES_MAX = 107;

/** The states that a server reports to a service manager. Source: sd_notify(3). */
export interface ServiceManager {
  notify(state: 'ready' | 'reloading' | 'stopping'): void;
}

const NOBODY: ServiceManager = { notify: () => undefined };

/**
 * The service manager that started this process: systemd, or another that has set `NOTIFY_SOCKET`. Nothing is loaded if there is
 * none. `warn` is called if the notification fails.
 */
export async function serviceManager(
  socket: string | undefined,
  warn: (why: string) => void,
): Promise<ServiceManager> {
  if (socket === undefined || socket === '' || process.platform !== 'linux') return NOBODY;
  const address = addressOf(socket);
  if (address === undefined) {
    warn('NOTIFY_SOCKET must be the path or the abstract name of a Unix socket');
    return NOBODY;
  }
  try {
    const { sendTo, monotonicMicroseconds } = await cLibrary();
    const messages = {
      ready: () => 'READY=1',
      // systemd compares the time with its own, to distinguish this reload from the previous one.
      reloading: () => `RELOADING=1\nMONOTONIC_USEC=${monotonicMicroseconds()}`,
      stopping: () => 'STOPPING=1',
    };
    return {
      notify: (state) => {
        if (!sendTo(address, Buffer.from(messages[state]()))) {
          warn('The service manager cannot be notified');
        }
      },
    };
  } catch (error) {
    warn(`The service manager cannot be notified: ${messageOf(error)}`);
    return NOBODY;
  }
}

/** A `sockaddr_un`; `undefined` if the text names no Unix socket. */
function addressOf(socket: string): Uint8Array | undefined {
  // `@` stands for the zero byte that begins an abstract name, which has none at its end.
  const isAbstract = socket.startsWith('@');
  if (!isAbstract && !socket.startsWith('/')) return undefined;
  const name = Buffer.from(isAbstract ? `\0${socket.slice(1)}` : `${socket}\0`);
  if (name.length > NAME_BYTES_MAX + 1) return undefined;
  const address = new Uint8Array(2 + name.length);
  new Uint16Array(address.buffer, 0, 1)[0] = AF_UNIX;
  address.set(name, 2);
  return address;
}

/** glibc and musl. */
const LIBRARIES = ['libc.so.6', `libc.musl-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}.so.1`];

/** What neither Bun nor Node.js can do: datagrams to Unix sockets, and the clock of the machine. */
async function cLibrary() {
  const { dlopen } = await import('bun:ffi');
  const open = (name: string) =>
    dlopen(name, {
      socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
      sendto: { args: ['i32', 'buffer', 'u64', 'i32', 'buffer', 'u32'], returns: 'i64' },
      close: { args: ['i32'], returns: 'i32' },
      clock_gettime: { args: ['i32', 'buffer'], returns: 'i32' },
    });
  const { symbols } = firstThatOpens(open);
  return {
    /** Sends without waiting. Returns whether it could. */
    sendTo(address: Uint8Array, message: Uint8Array): boolean {
      const descriptor = symbols.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
      if (descriptor < 0) return false;
      const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
      const { length } = message;
      const sent = symbols.sendto(descriptor, message, length, flags, address, address.length);
      symbols.close(descriptor);
      return Number(sent) === length;
    },
    monotonicMicroseconds(): bigint {
      const time = new BigInt64Array(2);
      symbols.clock_gettime(CLOCK_MONOTONIC, new Uint8Array(time.buffer));
      const [seconds = 0n, nanoseconds = 0n] = time;
      return seconds * 1_000_000n + nanoseconds / 1000n;
    },
  };
}

function firstThatOpens<Library>(open: (name: string) => Library): Library {
  let why: unknown;
  for (const name of LIBRARIES) {
    try {
      return open(name);
    } catch (error) {
      why = error;
    }
  }
  throw why;
}
