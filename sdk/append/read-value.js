/** How long a value may not grow before it counts as broken off. */
const SILENT_MS = 60_000;
/** Pause before a stream that was cut is opened again. */
const AGAIN_MS = 500;

/** Reads a value that grows, by server-sent events. */
export async function readValue(options) {
  const abort = new AbortController();
  const pieces = readPieces(options, abort.signal);
  const first = await withTimeout(pieces.next(), abort);
  if (first.done) return undefined;
  if (first.value.end) {
    abort.abort();
    return null;
  }
  let length = 0;
  const textOf = ({ at, text }) => {
    // After a cut the whole comes again. What was given out already is cut off.
    const rest = text.slice(Math.max(0, length - at));
    length = Math.max(length, at + text.length);
    return rest;
  };
  return new ReadableStream({
    start: (controller) => controller.enqueue(textOf(first.value)),
    async pull(controller) {
      for (;;) {
        const { done, value } = await withTimeout(pieces.next(), abort);
        if (done) return controller.error(new Error('The value was replaced or forgotten'));
        const rest = textOf(value);
        if (rest !== '') controller.enqueue(rest);
        if (value.end) {
          abort.abort();
          return controller.close();
        }
        if (rest !== '') return;
      }
    },
    cancel: () => abort.abort(),
  });
}

function withTimeout(next, abort) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      abort.abort();
      reject(new Error(`Nothing came for ${SILENT_MS / 1000} seconds`));
    }, SILENT_MS);
    next.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** The events of a value, from the first of a subscription; ends when another value, or none, is there. */
async function* readPieces(options, signal) {
  const { channel, event, id } = options;
  for (;;) {
    for await (const frame of readFrames(options, signal)) {
      if (frame.event === 'pusher:cache_miss') return;
      if (frame.event.startsWith('pusher') || frame.event.startsWith('client-')) continue;
      if (frame.channel !== channel || frame.event !== event) return;
      const piece = JSON.parse(frame.data);
      if (piece.id !== id) return;
      yield piece;
    }
    if (signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** The frames of one subscription, until it is cut. */
async function* readFrames({ pusher, app, url, channel }, signal) {
  const path = `/apps/${app}/channels/${channel}/stream`;
  const query = pusher.createSignedQueryString({ method: 'GET', path, params: {} });
  let rest = '';
  try {
    const answer = await fetch(`${url}${path}?${query}`, {
      headers: { accept: 'text/event-stream' },
      signal,
    });
    if (!answer.ok) throw Object.assign(new Error(await answer.text()), { status: answer.status });
    for await (const text of answer.body.pipeThrough(new TextDecoderStream())) {
      const blocks = (rest + text).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        // Not by a pattern: `.` and `$` take more characters for ends of lines, which text may contain.
        const lines = block.split('\n');
        const data = lines.find((line) => line.startsWith('data: '));
        if (data !== undefined && !lines.includes('event: gap')) yield JSON.parse(data.slice(6));
      }
    }
  } catch (error) {
    // Without a status the stream was cut, or could not be opened, and is opened again.
    if (error.status !== undefined && error.status < 500) throw error;
  }
}
