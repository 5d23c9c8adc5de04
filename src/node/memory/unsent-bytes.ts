import { dlopen, FFIType } from 'bun:ffi';
import { readdirSync } from 'node:fs';

/** Source: `socket.h` and `tcp.h` of Linux. */
const SOL_SOCKET = 1;
const SO_ACCEPTCONN = 30;
const IPPROTO_TCP = 6;
const TCP_NOTSENT_LOWAT = 25;
const INT_BYTES = 4;

/** The memory of small arrays may move. */
const BUFFER_BYTES = 4_096;

const { i32, ptr } = FFIType;

/**
 * Bounds what the kernel takes of each connection in advance, before the network can take it, for all connections that this
 * process accepts from now on: accepted sockets inherit it from the one that listens. Without it, the kernel takes up to 4 MiB
 * of what a client does not read, which counts as memory of the container and not as waiting for the client.
 *
 * What is on its way through the network is not bounded, so neither is the speed of a connection. Returns `false` where it
 * cannot be set: on other systems than Linux, and with another C library.
 */
export function boundUnsentBytes(bytes: number): boolean {
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
      number.setInt32(0, bytes, true);
      symbols.setsockopt(descriptor, IPPROTO_TCP, TCP_NOTSENT_LOWAT, value, INT_BYTES);
    }
    return true;
  } catch {
    // Another C library, such as musl.
    return false;
  }
}
