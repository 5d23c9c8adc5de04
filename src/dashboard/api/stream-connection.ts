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
  let current = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waitMs = FIRST_WAIT_MS;

  const take = (each: StreamEvent) => {
    waitMs = FIRST_WAIT_MS;
    if (each.name !== 'end') event(each);
  };
  const connect = async () => {
    current = new AbortController();
    const { signal } = current;
    const failed = await follow(url(), take, signal);
    if (signal.aborted) return;
    if (failed.status === 401) needsLogin.value = true;
    // A final refusal is not retried.
    if ([400, 403, 404, 409].includes(failed.status)) return lost(failed.message, undefined);
    lost(failed.message, Date.now() + waitMs);
    timer = setTimeout(() => void connect(), waitMs);
    waitMs = Math.min(waitMs * 2, WAIT_MAX_MS);
  };
  const stop = () => {
    clearTimeout(timer);
    current.abort();
  };
  const stopWatching = watchTab({
    isNeeded,
    sleep: () => {
      stop();
      lost('this tab was in the background', undefined);
    },
    wake: () => void connect(),
  });
  void connect();
  return () => {
    stop();
    stopWatching();
  };
}

/** Passes on the events of one response until it ends. Returns why it ended. */
async function follow(
  url: string,
  take: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<Pick<Failed, 'message' | 'status'>> {
  const broken = { message: 'the connection was lost', status: 0 };
  try {
    const response = await fetch(url, { headers: { accept: 'text/event-stream' }, signal });
    if (!response.ok || response.body === null) return await failureOf(response);
    const reader = new EventStreamReader();
    const decoder = new TextDecoder();
    let why = broken.message;
    for await (const chunk of pieces(response.body)) {
      for (const each of reader.push(decoder.decode(chunk, { stream: true }))) {
        take(each);
        if (each.name === 'end') why = whyOf(each.data);
      }
    }
    return { message: why, status: 0 };
  } catch {
    // An abort ends it, too. The caller knows of that.
    return broken;
  }
}

interface TabWatcher {
  /** Whether the tab stays awake while it is hidden. */
  readonly isNeeded: () => boolean;
  readonly sleep: () => void;
  readonly wake: () => void;
}

/** Calls `sleep` once the tab was hidden for a while, and `wake` when it is visible again. Returns a function that stops this. */
function watchTab({ isNeeded, sleep, wake }: TabWatcher): () => void {
  let isAsleep = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    timer = setTimeout(() => {
      if (isNeeded()) return wait();
      isAsleep = true;
      sleep();
    }, HIDDEN_MAX_MS);
  };
  const watch = () => {
    clearTimeout(timer);
    if (document.hidden) {
      wait();
    } else if (isAsleep) {
      isAsleep = false;
      wake();
    }
  };
  document.addEventListener('visibilitychange', watch);
  return () => {
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', watch);
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
