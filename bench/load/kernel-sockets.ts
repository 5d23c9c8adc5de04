import { dlopen, FFIType, read } from 'bun:ffi';

// Linux, <sys/socket.h>, <netinet/in.h>, <netinet/tcp.h>, <sys/epoll.h>.
const AF_INET = 2;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
const IPPROTO_IP = 0;
const IP_BIND_ADDRESS_NO_PORT = 24;
const SOL_SOCKET = 1;
const SO_LINGER = 13;
const IPPROTO_TCP = 6;
const TCP_NODELAY = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const EPOLL_CTL_ADD = 1;
const EPOLLIN = 1;
const EINTR = 4;
const EAGAIN = 11;

// `struct epoll_event` is packed on x86-64 only.
const EVENT_BYTES = process.arch === 'x64' ? 12 : 16;
const EVENT_FD_OFFSET = process.arch === 'x64' ? 4 : 8;
const EVENTS_MAX = 1024;
/**
 * How many connections are read before those with priority are checked again: 64 reads take a third of a millisecond.
 */
const SOME = 64;
/** The same for those that go last. */
const FEW = 8;
const READ_BYTES = 256 * 1024;
const ONE = Int32Array.of(1);

const libc = openLibc();

function openLibc() {
  if (process.platform !== 'linux') {
    throw new Error('the load generator calls the kernel itself, and knows only that of Linux');
  }
  return dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    connect: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
    send: { args: ['i32', 'ptr', 'u64', 'i32'], returns: FFIType.i64_fast },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: FFIType.i64_fast },
    close: { args: ['i32'], returns: 'i32' },
    epoll_create1: { args: ['i32'], returns: 'i32' },
    epoll_ctl: { args: ['i32', 'i32', 'i32', 'ptr'], returns: 'i32' },
    epoll_wait: { args: ['i32', 'ptr', 'i32', 'i32'], returns: 'i32' },
    __errno_location: { args: [], returns: 'ptr' },
  }).symbols;
}

function errno(): number {
  const address = libc.__errno_location();
  return address === null ? 0 : read.i32(address, 0);
}

/** Returns the result of the system call, or throws its error. */
function checked(call: string, result: number): number {
  if (result < 0) throw new Error(`${call} failed with errno ${errno()}`);
  return result;
}

/** Builds a `struct sockaddr_in`. Takes an IPv4 address. */
function socketAddress(address: string, port: number): Uint8Array {
  const ip = address.split('.').map(Number);
  return Uint8Array.of(AF_INET, 0, port >>> 8, port & 255, ...ip, 0, 0, 0, 0, 0, 0, 0, 0);
}

/** Leaves the choice of the port to `connect`, which may use one that another address uses, too. */
function bindTo(fd: number, address: string): void {
  checked('setsockopt', libc.setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, ONE, 4));
  const name = socketAddress(address, 0);
  checked('bind', libc.bind(fd, name, name.length));
}

/** Who a connection belongs to, or many of them, which it knows by their descriptors. */
export interface ConnectionOwner {
  /** What came, in `bytes[0..length)`. They are overwritten by the next read. */
  received(bytes: Buffer, length: number, fd: number): void;
  /** The other side ended the connection, or it broke. */
  closed(fd: number): void;
}

/** How a connection is opened and read. */
export interface ConnectionOptions {
  /**
   * A connection with high priority does not wait for the others, as if it were on another machine; one with low
   * priority does not delay the others.
   */
  readonly goes?: 'first' | 'in turn' | 'last';
  /**
   * The IPv4 address of this end; the kernel chooses it if none is given. An address has some 28,000 ports. The kernel
   * takes those with an odd number first, and looks for a free one ever longer when these run out.
   */
  readonly from?: string;
}

/**
 * TCP connections by direct system calls, without an event loop: nothing is allocated per read, no microtasks run,
 * and this process alone decides when to read. That makes a load generator cheap enough to measure a server on an
 * equally fast core. Calls are synchronous; only `poll` waits.
 */
export class KernelSockets implements Disposable {
  readonly #epoll = checked('epoll_create1', libc.epoll_create1(0));
  /** Of the connections that are read first. It is itself in the other, so that waiting for one is waiting for both. */
  readonly #firstEpoll = checked('epoll_create1', libc.epoll_create1(0));
  /** Of the connections that are read when no other has anything. It is itself in the first one, too. */
  readonly #lastEpoll = checked('epoll_create1', libc.epoll_create1(0));
  /** By descriptor. The kernel gives out the lowest numbers, so that this takes 8 bytes for each connection. */
  readonly #owners: (ConnectionOwner | undefined)[] = [];
  readonly #events = new Uint8Array(EVENTS_MAX * EVENT_BYTES);
  readonly #eventView = new DataView(this.#events.buffer);
  readonly #buffer = Buffer.alloc(READ_BYTES);
  readonly #staysAwake: boolean;
  #reads = 0;
  /** Since when there was nothing to do; `undefined` while there is. */
  #idleSinceMs: number | undefined;
  #idleMs = 0;

  /**
   * Busy-polls instead of sleeping, so that the server does not pay for waking this process, as it would not for
   * clients on other machines. Needs a core of its own.
   */
  constructor(staysAwake = false) {
    this.#staysAwake = staysAwake;
    this.#watch(this.#epoll, this.#firstEpoll);
    this.#watch(this.#epoll, this.#lastEpoll);
  }

  /** For how long there was nothing to read or send, since the start. */
  get idleMs(): number {
    return this.#idleSinceMs === undefined
      ? this.#idleMs
      : this.#idleMs + performance.now() - this.#idleSinceMs;
  }

  /** Reads that brought something, since the start. */
  get reads(): number {
    return this.#reads;
  }

  /** Opens a connection, and waits until the kernel of the other side accepts it. Takes an IPv4 address. */
  connect(
    address: string,
    port: number,
    owner: ConnectionOwner,
    { goes = 'in turn', from }: ConnectionOptions = {},
  ): number {
    const fd = checked('socket', libc.socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (from !== undefined) bindTo(fd, from);
    const name = socketAddress(address, port);
    checked('connect', libc.connect(fd, name, name.length));
    checked('setsockopt', libc.setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, ONE, 4));

    const epolls = { first: this.#firstEpoll, 'in turn': this.#epoll, last: this.#lastEpoll };
    this.#watch(epolls[goes], fd);
    this.#owners[fd] = owner;
    return fd;
  }

  /** Sends everything at once; throws if the kernel would have to wait. */
  send(fd: number, bytes: Uint8Array): void {
    this.#endIdling();
    const sent = Number(libc.send(fd, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL));
    if (checked('send', sent) !== bytes.length) throw new Error('the kernel took only a part');
  }

  close(fd: number): void {
    this.#owners[fd] = undefined;
    libc.close(fd);
  }

  /** Ends a connection by a reset, as if this end had crashed. */
  reset(fd: number): void {
    // Lingers for 0 s.
    libc.setsockopt(fd, SOL_SOCKET, SO_LINGER, Int32Array.of(1, 0), 8);
    this.close(fd);
  }

  /** Closes all connections. Their owners are not notified. */
  [Symbol.dispose](): void {
    for (const [fd, owner] of this.#owners.entries()) if (owner !== undefined) libc.close(fd);
    this.#owners.length = 0;
    libc.close(this.#firstEpoll);
    libc.close(this.#lastEpoll);
    libc.close(this.#epoll);
  }

  /**
   * Reads each readable connection once. Waits for the first one at most this long, or not at all if it busy-polls.
   */
  poll(timeoutMs: number): void {
    this.#pollFrom(this.#epoll, timeoutMs, EVENTS_MAX);
  }

  /**
   * The same for some connections; those with priority come first, so that whatever else is due is only slightly
   * late.
   */
  pollSome(timeoutMs: number): void {
    this.#pollFrom(this.#firstEpoll, 0, EVENTS_MAX);
    this.#pollFrom(this.#epoll, timeoutMs, SOME);
  }

  #pollFrom(epoll: number, timeoutMs: number, most: number): void {
    if (timeoutMs > 0) this.#beginIdling();
    const waitMs = this.#staysAwake ? 0 : Math.ceil(timeoutMs);
    const count = libc.epoll_wait(epoll, this.#events, most, waitMs);
    if (count < 0 && errno() !== EINTR) checked('epoll_wait', count);
    if (count > 0) this.#endIdling();
    let hasFirst = false;
    let hasLast = false;
    for (let event = 0; event < count; event += 1) {
      const fd = this.#eventView.getInt32(event * EVENT_BYTES + EVENT_FD_OFFSET, true);
      if (fd === this.#firstEpoll) hasFirst = true;
      else if (fd === this.#lastEpoll) hasLast = true;
      else this.#read(fd);
    }
    // Only now, because its events replace those that were read.
    if (hasFirst) this.#pollFrom(this.#firstEpoll, 0, EVENTS_MAX);
    if (hasLast && count === 1) this.#pollFrom(this.#lastEpoll, 0, FEW);
  }

  #beginIdling(): void {
    this.#idleSinceMs ??= performance.now();
  }

  #endIdling(): void {
    if (this.#idleSinceMs === undefined) return;
    this.#idleMs += performance.now() - this.#idleSinceMs;
    this.#idleSinceMs = undefined;
  }

  #watch(epoll: number, fd: number): void {
    const event = new Uint8Array(EVENT_BYTES);
    const view = new DataView(event.buffer);
    view.setUint32(0, EPOLLIN, true);
    view.setInt32(EVENT_FD_OFFSET, fd, true);
    checked('epoll_ctl', libc.epoll_ctl(epoll, EPOLL_CTL_ADD, fd, event));
  }

  #read(fd: number): void {
    const owner = this.#owners[fd];
    // Closed by us while an earlier event of the same poll was dealt with.
    if (owner === undefined) return;
    const length = Number(libc.recv(fd, this.#buffer, READ_BYTES, MSG_DONTWAIT));
    if (length > 0) {
      this.#reads += 1;
      owner.received(this.#buffer, length, fd);
      return;
    }
    if (length < 0 && errno() === EAGAIN) return;
    this.close(fd);
    owner.closed(fd);
  }
}
