import { dlopen, FFIType } from 'bun:ffi';
import { readdirSync } from 'node:fs';

/** Source: `socket.h` and `tcp.h` of Linux. */
const SOL_SOCKET = 1;
const SO_RCVBUF = 8;
const SO_ACCEPTCONN = 30;
const IPPROTO_TCP = 6;
const TCP_USER_TIMEOUT = 18;
const TCP_NOTSENT_LOWAT = 25;
const INT_BYTES = 4;

/**
 * What the kernel may hold of what a client sends and the server has not read; the kernel doubles this number for what it needs
 * itself. It begins with as much by default, and goes up to many MiB for a client that sends quickly.
 */
const UNREAD_BYTES = 65_536;

/** After this time in which a client takes nothing of what waits for it, the kernel ends its connection. */
export const ACCEPTED_TIMEOUT_MS = 30_000;

/** The memory of small arrays may move. */
const BUFFER_BYTES = 4_096;

const { i32, ptr } = FFIType;

/**
 * Bounds what the kernel holds for all connections that this process accepts from now on: accepted sockets inherit it from the
 * one that listens.
 *
 * It takes at most `unsentBytes` and one packet of a connection in advance, before the network can take it; otherwise up to
 * 4 MiB of what a client does not read, which counts as memory of the container and not as waiting for the client. What is on
 * its way through the network is not bounded, so neither is the speed of a connection.
 *
 * Of what clients send, it takes 64 KiB of each connection in advance. A client sends at most as much in the time of a packet
 * and its answer.
 *
 * It holds them for at most `ACCEPTED_TIMEOUT_MS`. Otherwise it would hold them without end for a client that answers and does
 * not read, also after the connection was closed.
 *
 * Returns `false` where this cannot be set: on other systems than Linux, and with another C library.
 */
export function boundAcceptedSockets(unsentBytes: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const { symbols } = dlopen('libc.so.6', {
      getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
      setsockopt: { args: [i32, i32, i32, ptr, i32], returns: i32 },
    });
    const value = new Uint8Array(BUFFER_BYTES);
    const number = new DataView(value.buffer);
    const length = new Uint8Array(BUFFER_BYTES);
    const lengthView = new DataView(length.buffer);
    for (const name of readdirSync('/proc/self/fd')) {
      const descriptor = Number(name);
      lengthView.setUint32(0, INT_BYTES, true);
      const isSocket =
        symbols.getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, value, length) === 0;
      if (!isSocket || number.getInt32(0, true) !== 1) continue;
      for (const [level, option, bound] of [
        [IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsentBytes],
        [IPPROTO_TCP, TCP_USER_TIMEOUT, ACCEPTED_TIMEOUT_MS],
        [SOL_SOCKET, SO_RCVBUF, UNREAD_BYTES],
      ] as const) {
        number.setInt32(0, bound, true);
        symbols.setsockopt(descriptor, level, option, value, INT_BYTES);
      }
    }
    return true;
  } catch {
    // Another C library, such as musl.
    return false;
  }
}
