import type { Timers } from '../../../runtime/ports.ts';
import { Recent } from '../../../runtime/recent.ts';
import { KEEP_ALIVE } from '../lines.ts';
import type { Outlet } from '../receiver.ts';
import { ResponseEnd, type ResponseEnded } from '../response-end.ts';
import type { Loss, ReceiveRequest, SessionHome, SessionSendRequest } from './session-home.ts';
import type { SessionAnswer, SessionQuestion } from './session-messages.ts';

/**
 * How long a home on another server has to confirm that it has a request. A busy one must not lose its sessions to others.
 * Milliseconds.
 */
const SILENT_MS = 5000;

/**
 * How often this loop sends a message to a home that has its requests: the bus reports if nobody received it.
 * Milliseconds.
 */
const ASK_MS = 5000;

/** A home that has written nothing for this long is dead: it writes a line after 25 s at the latest. Milliseconds. */
const GONE_MS = 40_000;

/** How long it may take to find out that messages of a client were not sent. Milliseconds. */
const SENT_MS = 10_000;
/** The limit of sessions whose messages were sent in that time. */
const SENT_MAX = 8192;

/** The number of the last request. None is used twice: a late answer to one must not reach the client of another. */
let lastRequest = 0;

interface Remote {
  readonly outlet: Outlet;
  readonly session: string;
  readonly isPoll: boolean;
  readonly cancelWait: () => void;
  /** Opens the session on this loop. */
  readonly beginAnew: () => void;
  /** Whether the home has confirmed that it received the request. */
  isReceived: boolean;
  /** When the home last wrote. Monotonic milliseconds. */
  writtenAtMs: number;
  /** Waiting bytes that the home knows of. */
  reportedBytes: number;
  /** How many times messages were written. */
  written: number;
  /** Whether the home has written all of the response. */
  isComplete: boolean;
}

export interface RemoteHomeOptions {
  /** Sends a message to the loop where the sessions live. Messages arrive in order. */
  readonly ask: (question: SessionQuestion) => void;
  readonly sendBufferBytes: number;
  /** Monotonic. */
  readonly timers: Timers;
  /** Answers a request instead of a home that does not; `undefined`: it always answers, since it is of this process. */
  readonly instead?: SessionHome;
  /** Called with a session that may have lost a message of its client, and does not know. */
  readonly onMessageLost?: (session: string) => void;
  /** Keeps for the home that a session has lost a message of its client, even if this loop ends. */
  readonly noteLoss?: (session: string) => Promise<void>;
}

interface AskedApp {
  readonly session: string;
  readonly answer: (app: string | undefined) => void;
}

/** The sessions on another loop, for requests of their clients that have come to this loop. */
export class RemoteHome implements SessionHome {
  private readonly options: RemoteHomeOptions;
  private readonly receiving = new Map<number, Remote>();
  private readonly asked = new Map<number, AskedApp>();
  /** By session, when messages of its client were last sent. */
  private readonly sent = new Recent<string, number>(SENT_MAX);
  private askedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteHomeOptions) {
    this.options = options;
  }

  /** Whether nothing is under way. */
  get isIdle(): boolean {
    return this.receiving.size === 0 && this.asked.size === 0 && this.sent.size === 0;
  }

  /** The streams that it writes. */
  *streams(): Iterable<Outlet> {
    for (const { outlet, isPoll, isComplete } of this.receiving.values()) {
      if (!isPoll && !isComplete) yield outlet;
    }
  }

  /** Lets it answer the polls that it holds. Their clients then poll again. */
  releasePolls(): void {
    for (const { session, isPoll, isComplete } of this.receiving.values()) {
      if (isPoll && !isComplete) this.send({ session, number: undefined, frames: [] });
    }
  }

  receive(receive: ReceiveRequest, outlet: Outlet): ResponseEnded {
    const { ask, timers, instead } = this.options;
    const request = ++lastRequest;
    const elsewhere = new ResponseEnd();
    const beginAnew = () => {
      cancelWait();
      if (!this.receiving.delete(request)) return;
      ask({ ask: 'ended', request, written: 0 });
      if (instead !== undefined) elsewhere.passTo(instead.receive(receive, outlet));
    };
    const cancelWait = this.whenSilent(beginAnew);
    const remote: Remote = {
      outlet,
      session: receive.session,
      isPoll: !receive.isStream,
      cancelWait,
      beginAnew,
      isReceived: false,
      writtenAtMs: timers.now(),
      reportedBytes: 0,
      written: 0,
      isComplete: false,
    };
    this.receiving.set(request, remote);
    ask({ ask: 'receive', request, receive });
    return (why) => {
      cancelWait();
      if (!this.receiving.delete(request)) return elsewhere.ended(why);
      ask({ ask: 'ended', request, written: remote.written, ...(why && { why }) });
    };
  }

  appOf(session: string): Promise<string | undefined> {
    const request = ++lastRequest;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const cancelWait = this.whenSilent(() => void this.giveUp(request));
    this.asked.set(request, {
      session,
      answer(app) {
        cancelWait();
        resolve(app);
      },
    });
    this.options.ask({ ask: 'app-of', request, session });
    return promise;
  }

  send(send: SessionSendRequest): void {
    const { ask, timers, onMessageLost } = this.options;
    if (onMessageLost !== undefined) this.sent.set(send.session, timers.now());
    ask({ ask: 'send', send });
  }

  lost(session: string, why: Loss): void {
    this.options.ask({ ask: 'lost', session, why });
  }

  /** Takes an answer of the other loop. */
  answered(answer: SessionAnswer): void {
    const { request } = answer;
    if (answer.answer === 'app') return this.answerApp(request, answer.app);
    const remote = this.receiving.get(request);
    if (remote === undefined) return;
    remote.cancelWait();
    remote.isReceived = true;
    if (answer.answer === 'received') return;
    remote.isComplete ||= remote.isPoll || answer.answer !== 'write';
    if (answer.answer === 'write') this.write(request, remote, answer.lines);
    else remote.outlet[answer.answer]();
  }

  /**
   * Messages to or from the home may be missing. Breaks the responses that it has begun, and answers the other
   * requests itself.
   */
  missed(): void {
    for (const { outlet, isReceived, beginAnew } of [...this.receiving.values()]) {
      if (isReceived) outlet.break();
      else beginAnew();
    }
    for (const request of [...this.asked.keys()]) void this.giveUp(request);
    this.forgetSent();
    for (const session of this.sent.keys()) this.options.onMessageLost?.(session);
    this.sent.clear();
  }

  /**
   * Reports to the home how many bytes wait for slow clients, and breaks the responses of a dead home. Called once a
   * second.
   */
  check(): void {
    const nowMs = this.options.timers.now();
    this.forgetSent();
    for (const [request, remote] of this.receiving) {
      // One that is complete only waits for its client.
      if (!remote.isComplete && nowMs - remote.writtenAtMs > GONE_MS) {
        remote.outlet.break();
        continue;
      }
      const bytes = remote.outlet.waitingBytes();
      if (bytes === remote.reportedBytes && nowMs - this.askedAtMs < ASK_MS) continue;
      this.askedAtMs = nowMs;
      remote.reportedBytes = bytes;
      this.options.ask({ ask: 'waiting', request, bytes });
    }
  }

  private forgetSent(): void {
    const sinceMs = this.options.timers.now() - SENT_MS;
    for (const [session, sentAtMs] of this.sent) {
      if (sentAtMs > sinceMs) break;
      this.sent.delete(session);
    }
  }

  private answerApp(request: number, app: string | undefined): void {
    this.takeAsked(request)?.answer(app);
  }

  /** The client does not look at the status, so its message is lost. */
  private async giveUp(request: number): Promise<void> {
    const asked = this.takeAsked(request);
    if (asked === undefined) return;
    const { session, answer } = asked;
    const { noteLoss, onMessageLost } = this.options;
    onMessageLost?.(session);
    try {
      // First, so that a home that does not get the next message finds it.
      await noteLoss?.(session);
    } catch {
      // Redis is away. The session is searched until its home answers.
    }
    this.lost(session, 'not-received');
    answer(undefined);
  }

  private takeAsked(request: number): AskedApp | undefined {
    const asked = this.asked.get(request);
    this.asked.delete(request);
    return asked;
  }

  private whenSilent(run: () => void): () => void {
    const { instead, timers } = this.options;
    return instead === undefined ? nothing : timers.after(SILENT_MS, run);
  }

  private write(request: number, remote: Remote, lines: string): void {
    const { ask, timers, sendBufferBytes } = this.options;
    if (lines !== KEEP_ALIVE) remote.written++;
    remote.writtenAtMs = timers.now();
    // The socket had no time yet to take what is written now.
    const isBehind = remote.outlet.waitingBytes() > 0;
    remote.outlet.write(lines);
    if (!isBehind || remote.outlet.waitingBytes() <= sendBufferBytes) return;
    this.receiving.delete(request);
    ask({ ask: 'ended', request, why: 'too-slow' });
    remote.outlet.break();
  }
}

function nothing(): void {
  // There is no wait to cancel.
}
