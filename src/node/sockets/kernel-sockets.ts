import { dlopen, FFIType } from 'bun:ffi';
import { addressText } from '../../runtime/ip-address.ts';
import { ACCEPTED_TIMEOUT_MS } from './accepted-sockets.ts';

/** A TCP connection of this process and its other end. */
export interface ConnectedSocket {
  readonly descriptor: number;
  readonly address: string;
  readonly port: number;
}

/** An open TCP connection of this process, as the kernel knows it. */
export interface KernelSocket extends ConnectedSocket {
  /** Since it last received a byte, or was opened. Milliseconds. */
  readonly silentMs: number;
}

/** A connection whose client takes nothing of what the kernel holds for it. */
export interface UnreadSocket extends ConnectedSocket {
  /** The memory that the kernel holds for it. */
  readonly bytes: number;
}

/** What the kernel tells of the sockets of this process. The runtime shows neither connections without a request nor their age. */
export interface KernelSockets {
  /** Returns the TCP connection of a descriptor that was accepted on a port; `undefined` if it is none. Takes 1 to 4 µs. */
  accepted(descriptor: number, port: number): KernelSocket | undefined;
  /**
   * Returns the TCP connection of a descriptor if a listener that is bounded by `boundAcceptedSockets` has accepted it, the kernel
   * holds at least `leastBytes` for it, and its client takes none of them: it has no room, or has not answered for a while.
   * Takes 1 to 4 µs.
   */
  unread(descriptor: number, leastBytes: number): UnreadSocket | undefined;
  /** Shuts a connection down, unless it has ended meanwhile. The runtime then closes it. */
  end(socket: ConnectedSocket): void;
  /** Shuts a connection down, and lets the kernel free what it holds for it: after `end`, it holds that for as long as the client answers. */
  abort(socket: ConnectedSocket): void;
}

/** Source: `socket.h`, `sock_diag.h` and `tcp.h` of Linux. */
const SOL_SOCKET = 1;
const SO_LINGER = 13;
const SO_MEMINFO = 55;
const LINGER_BYTES = 8;
const MEMORY_BYTES = 36;
/** Where the answer of `SO_MEMINFO` has what is sent and not taken. */
const WRITE_QUEUED_AT = 20;
const TCP_USER_TIMEOUT = 18;
const INT_BYTES = 4;
const AF_INET = 2;
const AF_INET6 = 10;
const IPPROTO_TCP = 6;
const TCP_INFO = 11;
const SHUT_RDWR = 2;
/** Where `struct tcp_info` has `tcpi_retransmits`, `tcpi_probes`, `tcpi_unacked` and `tcpi_last_data_recv`. */
const RETRANSMITS_AT = 2;
const PROBES_AT = 3;
const UNACKNOWLEDGED_AT = 24;
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
      setsockopt: { args: [i32, i32, i32, ptr, i32], returns: i32 },
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
  setsockopt(
    descriptor: number,
    level: number,
    option: number,
    value: Bytes,
    length: number,
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
    const other = this.otherEnd(descriptor);
    if (other === undefined || !this.option(descriptor, IPPROTO_TCP, TCP_INFO, TCP_INFO_BYTES)) {
      return undefined;
    }
    const silentMs = this.valueView.getUint32(LAST_DATA_RECEIVED_AT, true);
    return { ...other, silentMs };
  }

  unread(descriptor: number, leastBytes: number): UnreadSocket | undefined {
    if (!this.option(descriptor, SOL_SOCKET, SO_MEMINFO, MEMORY_BYTES)) return undefined;
    const bytes = this.valueView.getUint32(WRITE_QUEUED_AT, true);
    if (bytes < leastBytes) return undefined;
    // Those that this process has opened itself do not have it.
    if (!this.option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, INT_BYTES)) return undefined;
    if (this.valueView.getUint32(0, true) !== ACCEPTED_TIMEOUT_MS) return undefined;
    if (!this.option(descriptor, IPPROTO_TCP, TCP_INFO, TCP_INFO_BYTES)) return undefined;
    const { valueView } = this;
    const isStuck =
      valueView.getUint8(RETRANSMITS_AT) > 0 ||
      valueView.getUint8(PROBES_AT) > 0 ||
      // Something waits, and nothing is on its way.
      valueView.getUint32(UNACKNOWLEDGED_AT, true) === 0;
    const other = isStuck ? this.otherEnd(descriptor) : undefined;
    return other && { ...other, bytes };
  }

  end(socket: ConnectedSocket): void {
    this.ifSame(socket, (copy) => void this.libc.shutdown(copy, SHUT_RDWR));
  }

  abort(socket: ConnectedSocket): void {
    this.ifSame(socket, (copy) => {
      // On, for 0 seconds.
      this.valueView.setInt32(0, 1, true);
      this.valueView.setInt32(4, 0, true);
      this.libc.setsockopt(copy, SOL_SOCKET, SO_LINGER, this.value, LINGER_BYTES);
      this.libc.shutdown(copy, SHUT_RDWR);
    });
  }

  /** Calls with a copy of the descriptor, if it is still that of the connection. */
  private ifSame(socket: ConnectedSocket, run: (copy: number) => void): void {
    const { libc } = this;
    // Another thread may close the descriptor meanwhile, and open it again for something else. The copy stays.
    const copy = libc.dup(socket.descriptor);
    if (copy < 0) return;
    this.room(ADDRESS_BYTES);
    const isSame =
      libc.getpeername(copy, this.value, this.length) === 0 &&
      this.portRead() === socket.port &&
      this.addressRead() === socket.address;
    if (isSame) run(copy);
    libc.close(copy);
  }

  private otherEnd(descriptor: number): ConnectedSocket | undefined {
    this.room(ADDRESS_BYTES);
    // A socket that listens has no other end.
    if (this.libc.getpeername(descriptor, this.value, this.length) !== 0) return undefined;
    const address = this.addressRead();
    const port = this.portRead();
    return address === undefined || port === undefined ? undefined : { descriptor, address, port };
  }

  /** Reads an option into `value`; `false` if there is none, such as those of TCP of another socket. */
  private option(descriptor: number, level: number, option: number, bytes: number): boolean {
    this.room(bytes);
    return this.libc.getsockopt(descriptor, level, option, this.value, this.length) === 0;
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
