import { availableBytes } from '../machine/kernel-memory.ts';
import {
  connectionsWithin,
  openFilesFor,
  raiseOpenFiles,
  settingsFor,
} from '../machine/open-files.ts';
import { whole } from '../report.ts';

/** So much stays free for others. */
export const KEPT_FREE_BYTES = 4 * 2 ** 30;
/** What a connection takes on a machine that has both ends: 2 kB in the server, twice 4 kB in the kernel, and the client. */
export const BOTH_ENDS_BYTES = 10_500;

/** How many connections are tried. */
export interface Size {
  readonly connections: number;
  /** The limit of open files of the processes. */
  readonly openFiles: number;
  /** What decided, in words. */
  readonly why: string;
}

/** The smallest of what is asked, what open files allow and what memory allows. */
export function sizeFor(asked: number): Size {
  const openFiles = raiseOpenFiles(openFilesFor(asked));
  const byFiles = connectionsWithin(openFiles);
  const freeBytes = availableBytes() - KEPT_FREE_BYTES;
  const byMemory = Math.max(0, Math.floor(freeBytes / BOTH_ENDS_BYTES));
  const connections = Math.min(asked, byFiles, byMemory);
  if (connections === asked) return { connections, openFiles, why: 'as asked' };
  const why =
    connections === byFiles
      ? `what ${whole(openFiles)} open files allow; ${settingsFor(asked)}. Or try --in-uml`
      : `what memory allows: ${whole(BOTH_ENDS_BYTES)} bytes each for both ends, and 4 GiB stay free`;
  return { connections, openFiles, why: `${whole(asked)} were asked for, and this is ${why}` };
}
