import type { Outlet } from './receiver.ts';
import type { SessionAnswer, SessionQuestion } from './session-messages.ts';
import type { ReceiveRequest, ResponseEnded, SendRequest, SessionHome } from './sessions.ts';

interface Remote {
  readonly outlet: Outlet;
  /** Waiting bytes that the home knows of. */
  reportedBytes: number;
}

export interface RemoteHomeOptions {
  /** Sends a message to the loop where the sessions live. Messages arrive in order. */
  readonly ask: (question: SessionQuestion) => void;
  readonly sendBufferBytes: number;
}

/** The sessions of another loop, for the requests of their clients that have come to this one. */
export class RemoteHome implements SessionHome {
  private readonly options: RemoteHomeOptions;
  private readonly receiving = new Map<number, Remote>();
  private readonly asked = new Map<number, (app: string | undefined) => void>();
  private requests = 0;

  constructor(options: RemoteHomeOptions) {
    this.options = options;
  }

  receive(receive: ReceiveRequest, outlet: Outlet): ResponseEnded {
    const request = ++this.requests;
    this.receiving.set(request, { outlet, reportedBytes: 0 });
    this.options.ask({ ask: 'receive', request, receive });
    return (why) => {
      if (this.receiving.delete(request))
        this.options.ask({ ask: 'ended', request, ...(why && { why }) });
    };
  }

  appOf(session: string): Promise<string | undefined> {
    const request = ++this.requests;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    this.asked.set(request, resolve);
    this.options.ask({ ask: 'app-of', request, session });
    return promise;
  }

  send(send: SendRequest): void {
    this.options.ask({ ask: 'send', send });
  }

  tooLarge(session: string): void {
    this.options.ask({ ask: 'too-large', session });
  }

  /** Takes an answer of the other loop. */
  answered(answer: SessionAnswer): void {
    const { request } = answer;
    if (answer.answer === 'app') {
      this.asked.get(request)?.(answer.app);
      this.asked.delete(request);
      return;
    }
    const outlet = this.receiving.get(request)?.outlet;
    if (outlet === undefined) return;
    if (answer.answer === 'write') return this.write(request, outlet, answer.lines);
    outlet[answer.answer]();
  }

  /** Tells the home how much waits for slow clients. Called about once a second. */
  check(): void {
    for (const [request, remote] of this.receiving) {
      const bytes = remote.outlet.waitingBytes();
      if (bytes === remote.reportedBytes) continue;
      remote.reportedBytes = bytes;
      this.options.ask({ ask: 'waiting', request, bytes });
    }
  }

  private write(request: number, outlet: Outlet, lines: string): void {
    outlet.write(lines);
    if (outlet.waitingBytes() <= this.options.sendBufferBytes) return;
    this.receiving.delete(request);
    this.options.ask({ ask: 'ended', request, why: 'too-slow' });
    outlet.break();
  }
}
