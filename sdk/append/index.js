import { readValue } from './read-value.js';

/** Units of a text in one request: fewer bytes than an app's events may have by default, whatever the characters. */
const PIECE_UNITS = 3000;

/** Pauses before a request is repeated that has got no answer, or that the server could not serve. */
const RETRY_MS = [100, 200, 400, 800, 1600, 3200, 5000];

const isHighSurrogate = (text, at) => (text.charCodeAt(at) & 0xfc00) === 0xd800;

/** What an answer of the library says; it throws for other statuses than 200, with the status if there was an answer. */
async function send(pusher, channel, { event, text, append }) {
  try {
    const answer = await (await pusher.trigger(channel, event, text, { append })).json();
    return { status: 200, answer };
  } catch (error) {
    return { status: error.status ?? 0, error };
  }
}

/** Appends a text to a value, piece by piece. One request is in flight; what is written meanwhile goes with the next one. */
export function append(
  pusher,
  channel,
  { id, event = 'answer', waitMs = 25, heartbeatMs = 1000 } = {},
) {
  const stopping = new AbortController();
  let settle;
  const ended = new Promise((resolve, reject) => {
    settle = { resolve, reject };
  });
  // Whoever never asks for the end must not end the process.
  ended.catch(() => undefined);
  let all = '';
  // Half of a character, whose other half is still to be written.
  let half = '';
  let at = 0;
  let hasBegun = false;
  let isEnding = false;
  let isOver = false;
  let isSending = false;
  let failures = 0;
  let sentAtMs = 0;
  let timer;

  const fail = (error) => {
    isOver = true;
    clearTimeout(timer);
    stopping.abort(error);
    settle.reject(error);
  };
  const plan = (ms, isHeartbeat = false) => {
    clearTimeout(timer);
    timer = setTimeout(sendNext, ms);
    // A producer that has gone away without an end must not keep its process.
    if (isHeartbeat) timer.unref?.();
  };

  async function sendNext() {
    isSending = true;
    let to = Math.min(all.length, at + PIECE_UNITS);
    if (to < all.length && isHighSurrogate(all, to - 1)) to--;
    const isLast = isEnding && to === all.length;
    const piece = { id, at, ...(isLast ? { end: true } : {}) };
    sentAtMs = Date.now();
    const sent = await send(pusher, channel, { event, text: all.slice(at, to), append: piece });
    isSending = false;
    const { status, answer, error } = sent;
    if (status === 200) return added(to, isLast, answer);
    if (status === 404 && at > 0) at = 0;
    else if (status >= 400 && status < 500 && status !== 408 && status !== 429) return fail(error);
    // Again at the same place: the server knows what it has.
    plan(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]);
  }

  function added(to, isLast, answer) {
    failures = 0;
    hasBegun = true;
    at = to;
    if (answer.stop) stopping.abort(new DOMException(`${id} was stopped`, 'AbortError'));
    if (isLast) {
      isOver = true;
      settle.resolve(answer);
    } else if (isEnding || all.length - at >= PIECE_UNITS) void sendNext();
    else if (at < all.length) plan(Math.max(0, sentAtMs + waitMs - Date.now()));
    else plan(heartbeatMs, true);
  }

  return {
    stopped: stopping.signal,
    write(text) {
      if (isOver || isEnding) return;
      const isIdle = at === all.length;
      const whole = half + text;
      half = isHighSurrogate(whole, whole.length - 1) ? whole.at(-1) : '';
      all += whole.slice(0, whole.length - half.length).toWellFormed();
      // From its first character: a timer that each write started again would never end under a steady stream.
      if (!isSending && failures === 0 && isIdle && at < all.length) plan(hasBegun ? waitMs : 0);
    },
    end() {
      if (!isEnding && !isOver) {
        all += half.toWellFormed();
        isEnding = true;
        if (!isSending && failures === 0) plan(0);
      }
      return ended;
    },
  };
}

/**
 * The two calls of `resumable-stream`, over values of a server: `url` is its address, `app` the id of the app, `channel` makes the
 * name of a cache channel for a stream.
 */
export function resumable(
  pusher,
  { app, url, channel = (id) => `private-cache-stream-${id}`, event = 'answer', ...options },
) {
  return {
    async createNewResumableStream(id, makeStream) {
      const value = append(pusher, channel(id), { ...options, id, event });
      const source = makeStream().getReader();
      value.stopped.addEventListener('abort', () => {
        // What cannot be appended any more still goes to whoever reads it here.
        if (value.stopped.reason.name !== 'AbortError') return;
        // It fails if the source has failed, which the loop below reports.
        source.cancel(value.stopped.reason).catch(() => undefined);
      });
      return new ReadableStream({
        async start(controller) {
          try {
            for (;;) {
              const { done, value: text } = await source.read();
              if (done) break;
              value.write(text);
              controller.enqueue(text);
            }
            controller.close();
          } catch (error) {
            controller.error(error);
          }
          await value.end().catch(() => undefined);
        },
        // Whoever reads it has gone; the value goes on for others.
        cancel: () => undefined,
      });
    },
    resumeExistingStream(id) {
      return readValue({ pusher, app, url, channel: channel(id), event, id });
    },
  };
}
