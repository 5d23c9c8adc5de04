import { dlopen } from 'bun:ffi';
import { addressText } from './remote-address.ts';

/** What the kernel knows about one TCP connection. */
export interface ConnectionFacts {
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Whether we ever sent it any data. Of plain HTTP that means that it was answered. */
  readonly answered: boolean;
  /**
   * Time since we last sent it data, or since it was made if we never did, in the steps of the
   * kernel's clock: 1 to 10 ms.
   */
  readonly quietMs: number;
}

/** The system calls that Bun has no function for. */
export interface Libc extends Disposable {
  /** Describes the connection behind a descriptor, or gives undefined if there is none. */
  describe(descriptor: number): ConnectionFacts | undefined;

  /**
   * Ends the connection behind a descriptor if it still is the one that is meant, and tells whether
   * it did. The descriptor stays open: its owner sees the end of the stream, and closes it.
   */
  end(descriptor: number, isMeant: (facts: ConnectionFacts) => boolean): boolean;
}

// Source: the kernel's uapi headers; these numbers are the same on x86-64 and arm64.
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const SHUT_RDWR = 2;
const F_DUPFD_CLOEXEC = 1030;
const AF_INET = 2;
const AF_INET6 = 10;

/** Where `struct tcp_info` keeps what we read of it, and how long it must be to have it (Linux 4.6). */
const tcpInfo = { lastDataSentMs: 44, dataSegmentsOut: 156, bytes: 160 };

const symbols = {
  getpeername: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
  getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
  shutdown: { args: ['i32', 'i32'], returns: 'i32' },
  fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  close: { args: ['i32'], returns: 'i32' },
} as const;

/** Opens the C library of this process, glibc or musl. Throws if it cannot. */
export function openLibc(): Libc {
  const libc = openFirst([
    'libc.so.6',
    `libc.musl-${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`,
  ]);
  const call = libc.symbols;
  const buffer = new Uint8Array(256);
  const bufferBytes = new Uint32Array(1);
  const answer = new DataView(buffer.buffer);

  const describe = (descriptor: number): ConnectionFacts | undefined => {
    bufferBytes[0] = buffer.length;
    if (call.getpeername(descriptor, buffer, bufferBytes) !== 0) return undefined;
    const remoteAddress = readAddress(answer);
    if (remoteAddress === undefined) return undefined;
    const remotePort = answer.getUint16(2);

    bufferBytes[0] = buffer.length;
    if (call.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, buffer, bufferBytes) !== 0) {
      return undefined;
    }
    if (bufferBytes[0] < tcpInfo.bytes) throw new Error('TCP_INFO is too short: Linux before 4.6');
    return {
      remoteAddress,
      remotePort,
      answered: answer.getUint32(tcpInfo.dataSegmentsOut, true) > 0,
      quietMs: answer.getUint32(tcpInfo.lastDataSentMs, true),
    };
  };

  const end = (descriptor: number, isMeant: (facts: ConnectionFacts) => boolean): boolean => {
    // The main thread may close the descriptor at any moment and get its number again for another
    // connection. What our own duplicate stands for cannot change between the look and the shutdown.
    const ours = call.fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    if (ours < 0) return false;
    try {
      const facts = describe(ours);
      return facts !== undefined && isMeant(facts) && call.shutdown(ours, SHUT_RDWR) === 0;
    } finally {
      call.close(ours);
    }
  };

  return { describe, end, [Symbol.dispose]: () => libc.close() };
}

function openFirst(names: readonly string[]) {
  const errors: unknown[] = [];
  for (const name of names) {
    try {
      return dlopen(name, symbols);
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, `None of these could be opened: ${names.join(', ')}`);
}

/** Reads the address out of a `struct sockaddr_in` or `sockaddr_in6`. */
function readAddress(name: DataView): string | undefined {
  const bytes = (at: number, count: number) =>
    Array.from({ length: count }, (_, index) => name.getUint8(at + index));
  switch (name.getUint16(0, true)) {
    case AF_INET:
      return addressText(bytes(4, 4));
    case AF_INET6:
      return addressText(bytes(8, 16));
    default:
      return undefined;
  }
}
