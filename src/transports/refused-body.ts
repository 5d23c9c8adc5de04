import { monotonicTimers } from '../runtime/system-timers.ts';

const MIB = 1024 * 1024;

/** What is read of the body of a refused request. It is dropped at once. */
export const refusedBodyBounds = {
  /** A longer body is not skipped to keep the connection: the answer is its last one. */
  restBytes: MIB,
  /**
   * What is read before a connection is closed. If it closed while the client is sending, the system would discard the
   * answer, and the client would see a broken connection.
   */
  lingerBytes: 16 * MIB,
  lingerMs: 5_000,
};

export type RefusedBodyBounds = Readonly<typeof refusedBodyBounds>;

/** Measures what is read of a body after the answer, and calls back once when that is enough. */
export class Lingering {
  private readonly bytesMax: number;
  private readonly cancel: () => void;
  private readonly onEnough: () => void;
  private receivedBytes = 0;

  constructor({ lingerBytes, lingerMs }: RefusedBodyBounds, onEnough: () => void) {
    this.bytesMax = lingerBytes;
    this.onEnough = onEnough;
    this.cancel = monotonicTimers.after(lingerMs, () => this.end());
  }

  received(bytes: number): void {
    this.receivedBytes += bytes;
    if (this.receivedBytes > this.bytesMax) this.end();
  }

  /** The body is complete. */
  end(): void {
    this.stop();
    this.onEnough();
  }

  /** Measures no more, and does not call back. */
  stop(): void {
    this.cancel();
  }
}

/** The rest of a body, which nobody has read. */
export type UnreadBody = AsyncIterator<Uint8Array>;

/** Makes an answer of `Bun.serve` the last one of its connection, which stays open while the rest of the body is dropped. */
export function lastAnswer(
  response: Response,
  rest: UnreadBody,
  bounds: RefusedBodyBounds = refusedBodyBounds,
): Response {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(await response.bytes());
      await dropRest(rest, bounds);
      controller.close();
    },
  });
  const headers = new Headers(response.headers);
  headers.set('connection', 'close');
  return new Response(body, { status: response.status, headers });
}

/** Settles when the body has ended, or enough of it was read. */
async function dropRest(rest: UnreadBody, bounds: RefusedBodyBounds): Promise<void> {
  const enough = Promise.withResolvers<undefined>();
  const lingering = new Lingering(bounds, () => enough.resolve(undefined));
  try {
    for (;;) {
      const part = await Promise.race([rest.next(), enough.promise]);
      if (part === undefined || part.done === true) break;
      lingering.received(part.value.length);
    }
  } catch {
    // The client is gone.
  }
  lingering.stop();
  // Not awaited: it waits for the part that is being read.
  void rest.return?.().catch(() => undefined);
}

/** The body of a request that was answered without it; `undefined` if there is none, or if it was read. */
export function unreadBodyOf(request: Request): UnreadBody | undefined {
  if (request.bodyUsed) return undefined;
  return request.body?.[Symbol.asyncIterator]();
}

/** Whether a `Connection` header says that the connection closes after the answer. */
export function saysClose(connection: string | null | undefined): boolean {
  return /\bclose\b/i.test(connection ?? '');
}
