import { Inbox } from '../inbox.ts';

/** An HTTP endpoint on 127.0.0.1 that keeps the heads of its requests as they came, and answers 200. */
export interface RawEndpoint extends Disposable {
  readonly url: string;
  /** The head of each request, byte for byte, without the empty line behind it. */
  readonly heads: Inbox<string>;
}

/** Starts an endpoint that reads from a TCP socket. HTTP servers change the names of header fields. */
export function startRawEndpoint(): RawEndpoint {
  const heads = new Inbox<string>('The raw endpoint');
  const tcp = Bun.listen<{ received: string }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(socket) {
        socket.data = { received: '' };
      },
      data(socket, bytes) {
        socket.data.received += bytes.toString('latin1');
        const head = headOf(socket.data.received);
        if (head === undefined) return;
        // A client waits for the answer before it sends the next one.
        socket.data.received = '';
        heads.put(head);
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      },
    },
  });
  return {
    url: `http://127.0.0.1:${tcp.port}/webhooks`,
    heads,
    [Symbol.dispose]: () => tcp.stop(true),
  };
}

/** The head of a request that was received whole; its body has the length that the head says. */
function headOf(received: string): string | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const head = received.slice(0, end);
  const bodyBytes = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  return received.length < end + 4 + bodyBytes ? undefined : head;
}

/** The names of the header fields of a head, sorted. */
export function fieldNames(head: string): readonly string[] {
  return head
    .split('\r\n')
    .slice(1)
    .map((line) => line.slice(0, line.indexOf(':')))
    .toSorted();
}
