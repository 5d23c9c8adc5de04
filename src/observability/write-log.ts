import { writeSync } from 'node:fs';

/**
 * The log thread: writes the text from each port to standard error. It imports no other file: the runtime's thread pool
 * would load that, and the log must come even while every thread of the pool waits.
 */

declare const self: Worker;

const STANDARD_ERROR = 2;

/** The pause before a retry if another program has made the pipe non-blocking and it is full. */
const FULL_MS = 20;

self.onmessage = ({ data: port }: MessageEvent<MessagePort>) => {
  port.onmessage = ({ data }: { readonly data: string }) => port.postMessage(writeAll(data));
};

/** Writes all of the text. Returns false on an error. */
function writeAll(text: string): boolean {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STANDARD_ERROR, bytes, at);
    } catch (error) {
      // After any other error, such as a closed pipe or a full disk, the server continues without this text.
      if (!isFull(error)) return false;
      Bun.sleepSync(FULL_MS);
    }
  }
  return true;
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN';
}
