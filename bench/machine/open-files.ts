import { dlopen, type Pointer, ptr } from 'bun:ffi';
import { readFileSync } from 'node:fs';
import { shareOpenFiles } from '../../src/node/open-files.ts';

const RLIMIT_NOFILE = 7;
/** Of a server or a crowd beside its clients: the probe, those who trigger, files. */
const BESIDE = 100;

/** Raises the limit of open files of this process and of those that it starts, as far as it may. Returns what it is then. */
export function raiseOpenFiles(wanted: number): number {
  const libc = dlopen('libc.so.6', {
    getrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
    setrlimit: { args: ['i32', 'ptr'], returns: 'i32' },
  });
  const { getrlimit, setrlimit } = libc.symbols;
  const limits = new BigUint64Array(2);
  const address: Pointer = ptr(limits);
  getrlimit(RLIMIT_NOFILE, address);
  const [, hard = 0n] = limits;
  // Above the hard limit, it needs CAP_SYS_RESOURCE and an `fs.nr_open` as high.
  limits.fill(BigInt(Math.max(wanted, Number(hard))));
  if (setrlimit(RLIMIT_NOFILE, address) !== 0) {
    limits.fill(hard);
    setrlimit(RLIMIT_NOFILE, address);
  }
  getrlimit(RLIMIT_NOFILE, address);
  libc.close();
  return Number(limits[0]);
}

/** How many clients a server takes with this limit. */
export function connectionsWithin(openFiles: number): number {
  return Math.max(0, shareOpenFiles(openFiles).connections - BESIDE);
}

/** The limit of open files that a server needs for a number of clients. */
export function openFilesFor(connections: number): number {
  let [low, high] = [connections, connections * 2 + 10_000];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (connectionsWithin(middle) >= connections) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The two settings that allow a server this number of clients, in words. */
export function settingsFor(connections: number): string {
  const files = openFilesFor(connections);
  const nrOpen = Number(readFileSync('/proc/sys/fs/nr_open', 'utf8'));
  const above = files > nrOpen ? 'which must be raised first' : 'which suffices';
  return (
    `${connections} connections take LimitNOFILE=${files} (ulimit -Hn), ` +
    `and fs.nr_open must not be lower: it is ${nrOpen}, ${above}`
  );
}
