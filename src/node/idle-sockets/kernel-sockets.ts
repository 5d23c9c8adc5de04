import { dlopen, FFIType } from 'bun:ffi';
import { addressText } from '../../runtime/ip-address.ts';

/** An open TCP connection of this process, as the kernel knows it. */
export interface KernelSocket {
  readonly descriptor: number;
  /** The other end. */
  readonly address: string;
  readonly port: number;
  /** Since it last received a byte, or was opened. Milliseconds. */
  readonly silentMs: number;
}

/** What the kernel tells of the sockets of this process. The runtime shows neither connections without a request nor their age. */
export interface KernelSockets {
  /** Returns the TCP connection of a descriptor that was accepted on a port; `undefined` if it is none. Takes 1 to 4 µs. */
  accepted(descriptor: number, port: number): KernelSocket | undefined;
  /** Shuts a connection down, unless it has ended meanwhile. The runtime then closes it. */
  end(socket: KernelSocket): void;
}

/** Source: `socket.h` and `tcp.h` of Linux. */
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const SHUT_RDWR = 2;
/** Where `struct tcp_info` has `tcpi_last_data_recv`. */
const LAST_DATA_RECEIVED_AT = 52;
const TCP_INFO_BYTES = 104;
const ADDRESS_BYTES = 128;
/** The last four bytes before an IPv4 address in an IPv6 address. */
const MAPPED_PREFIX_END = 0x0000ffff;

/** The memory of small arrays may move. */
const BUFFER_BYTES = 4_096;

const { i32, ptr } = FFIType;

/** Opens the C library of Linux; `undefined` on other systems, and with another C library. */
export function openKernelSockets(): KernelSockets | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const { symbols } = dlopen('libc.so.6', {
      getsockname: { args: [i32, ptr, ptr], returns: i32 },
      getpeername: { args: [i32, ptr, ptr], returns: i32 },
      getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
      shutdown: { args: [i32, i32], returns: i32 },
      dup: { args: [i32], returns: i32 },
      close: { args: [i32], returns: i32 },
    });
    return new LibcSockets(symbols);
  } catch {
    // Another C library, such as musl.
    return undefined;
  }
}

type Bytes = Uint8Array<ArrayBuffer>;

/** The functions of the C library, which return 0 if they succeed, but `dup`. */
interface Libc {
  getsockname(descriptor: number, address: Bytes, length: Bytes): number;
  getpeername(descriptor: number, address: Bytes, length: Bytes): number;
  getsockopt(
    descriptor: number,
    level: number,
    option: number,
    value: Bytes,
    length: Bytes,
  ): number;
  shutdown(descriptor: number, how: number): number;
  dup(descriptor: number): number;
  close(descriptor: number): number;
}

class LibcSockets implements KernelSockets {
  private readonly libc: Libc;
  private readonly value = new Uint8Array(BUFFER_BYTES);
  private readonly valueView = new DataView(this.value.buffer);
  private readonly length = new Uint8Array(BUFFER_BYTES);
  private readonly lengthView = new DataView(this.length.buffer);

  constructor(libc: Libc) {
    this.libc = libc;
  }

  accepted(descriptor: number, port: number): KernelSocket | undefined {
    const { libc } = this;
    this.room(ADDRESS_BYTES);
    if (libc.getsockname(descriptor, this.value, this.length) !== 0) return undefined;
    if (this.portRead() !== port) return undefined;
    this.room(ADDRESS_BYTES);
    // A socket that listens has no other end.
    if (libc.getpeername(descriptor, this.value, this.length) !== 0) return undefined;
    const address = this.addressRead();
    const peerPort = this.portRead();
    this.room(TCP_INFO_BYTES);
    if (
      address === undefined ||
      peerPort === undefined ||
      libc.getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, this.value, this.length) !== 0
    ) {
      return undefined;
    }
    const silentMs = this.valueView.getUint32(LAST_DATA_RECEIVED_AT, true);
    return { descriptor, address, port: peerPort, silentMs };
  }

  end(socket: KernelSocket): void {
    const { libc } = this;
    // Another thread may close the descriptor meanwhile, and open it again for something else. The copy stays.
    const copy = libc.dup(socket.descriptor);
    if (copy < 0) return;
    this.room(ADDRESS_BYTES);
    const isSame =
      libc.getpeername(copy, this.value, this.length) === 0 &&
      this.portRead() === socket.port &&
      this.addressRead() === socket.address;
    if (isSame) libc.shutdown(copy, SHUT_RDWR);
    libc.close(copy);
  }

  private room(bytes: number): void {
    this.lengthView.setUint32(0, bytes, true);
  }

  /** `undefined` if it is no address of the Internet. */
  private addressRead(): string | undefined {
    const family = this.valueView.getUint16(0, true);
    if (family === AF_INET) return this.ipv4Read(4);
    if (family !== AF_INET6) return undefined;
    // IPv4 over IPv6, the usual case: many times as fast as by its text.
    if (
      this.valueView.getBigUint64(8) === 0n &&
      this.valueView.getUint32(16) === MAPPED_PREFIX_END
    ) {
      return this.ipv4Read(20);
    }
    return addressText([...this.value.subarray(8, 24)]);
  }

  private ipv4Read(at: number): string {
    const { value } = this;
    return `${value[at]}.${value[at + 1]}.${value[at + 2]}.${value[at + 3]}`;
  }

  private portRead(): number | undefined {
    const family = this.valueView.getUint16(0, true);
    return family === AF_INET || family === AF_INET6 ? this.valueView.getUint16(2) : undefined;
  }
}
