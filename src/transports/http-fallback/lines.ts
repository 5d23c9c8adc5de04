/*
 * The lines that a client reads: each one ends with a line feed, and none is empty. Source: HTTP transports, §4.
 */

/** The session is open. */
export const OPENED = 'o\n';

/**
 * The keep-alive line: it shows the client, and every proxy, that the connection is alive. `h` would cost two
 * requests.
 */
export const KEEP_ALIVE = 'a[]\n';

/** The line with several messages; see `elementOf`. */
export function messagesLine(elements: readonly string[]): string {
  return `a[${elements.join(',')}]\n`;
}

/** The line that closes the session, as a WebSocket is closed with this code and reason. */
export function closeLine(code: number, reason: string): string {
  return `c[${code},${JSON.stringify(reason)}]\n`;
}

let lastFrame = '';
let lastElement = '""';

/** A frame as an element of a line of messages. The same frame goes to many clients, so the last one is kept. */
export function elementOf(frame: string): string {
  // Equal references are compared first, which makes this cheap.
  if (frame !== lastFrame) {
    lastElement = JSON.stringify(frame);
    lastFrame = frame;
  }
  return lastElement;
}
