import { type Failed, failureOf, needsLogin } from './client.ts';
import { EventStreamReader, type StreamEvent } from './event-stream.ts';

export interface StreamListener {
  readonly event: (event: StreamEvent) => void;
  /** Whether the stream stays open while the tab is hidden. */
  readonly isNeeded?: () => boolean;
  /** The stream broke or was refused. It is opened again at `nextTryAtMs`, if that is given. */
  readonly lost: (why: string, nextTryAtMs: number | undefined) => void;
}

const FIRST_WAIT_MS = 1000;
const WAIT_MAX_MS = 15_000;
/** How long a hidden tab keeps its stream. Milliseconds. */
const HIDDEN_MAX_MS = 30_000;

/** Keeps a stream open while the tab is visible. Calls `url` before each attempt. Returns a function that stops it. */
export function openStream(
  url: () => string,
  { event, lost, isNeeded = () => false }: StreamListener,
): () => void {
  let isStopped = false;
  let current: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hiding: ReturnType<typeof setTimeout> | undefined;
  let isAsleep = false;
  let waitMs = FIRST_WAIT_MS;

  const retry = (failed: Pick<Failed, 'message' | 'status'>) => {
    if (isStopped || isAsleep) return;
    if (failed.status === 401) needsLogin.value = true;
    // A final refusal is not retried.
    if ([400, 403, 404, 409].includes(failed.status)) return lost(failed.message, undefined);
    lost(failed.message, Date.now() + waitMs);
    timer = setTimeout(() => void connect(), waitMs);
    waitMs = Math.min(waitMs * 2, WAIT_MAX_MS);
  };

  const connect = async () => {
    if (isStopped) return;
    const stopping = new AbortController();
    current = stopping;
    try {
      const response = await fetch(url(), {
        headers: { accept: 'text/event-stream' },
        signal: stopping.signal,
      });
      if (!response.ok || response.body === null) return retry(await failureOf(response));
      const reader = new EventStreamReader();
      const decoder = new TextDecoder();
      let endedBecause = 'the connection was lost';
      for await (const chunk of pieces(response.body)) {
        for (const each of reader.push(decoder.decode(chunk, { stream: true }))) {
          waitMs = FIRST_WAIT_MS;
          if (each.name === 'end') endedBecause = whyOf(each.data);
          else event(each);
        }
      }
      retry({ message: endedBecause, status: 0 });
    } catch {
      if (!stopping.signal.aborted) retry({ message: 'the connection was lost', status: 0 });
    }
  };

  const sleep = () => {
    hiding = setTimeout(() => {
      if (isNeeded()) return sleep();
      isAsleep = true;
      clearTimeout(timer);
      current?.abort();
      lost('this tab was in the background', undefined);
    }, HIDDEN_MAX_MS);
  };
  const watchVisibility = () => {
    clearTimeout(hiding);
    if (document.hidden) {
      sleep();
    } else if (isAsleep) {
      isAsleep = false;
      void connect();
    }
  };
  document.addEventListener('visibilitychange', watchVisibility);
  void connect();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    clearTimeout(hiding);
    current?.abort();
    document.removeEventListener('visibilitychange', watchVisibility);
  };
}

/** Reads a body in chunks. Not every browser can iterate over one. */
async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

function whyOf(data: string): string {
  try {
    const { why } = JSON.parse(data) as { why?: string };
    return why ?? 'the server ended it';
  } catch {
    return 'the server ended it';
  }
}
