import { KEEP_ALIVE } from '../lines.ts';
import type { Outlet } from '../receiver.ts';
import type { ResponseEnded } from '../response-end.ts';
import type { LocalHome } from './session-home.ts';
import type { SessionAnswer, SessionQuestion } from './session-messages.ts';

/** A response that another loop writes. */
class RemoteOutlet implements Outlet {
  /** Waiting bytes that the other loop has reported; of the answer to a poll all at first. */
  bytes = 0;
  /** How many times messages were written. */
  written = 0;
  private readonly answer: (answer: SessionAnswer) => void;
  private readonly request: number;
  private readonly isPoll: boolean;

  constructor(
    { request, receive }: SessionQuestion & { readonly ask: 'receive' },
    answer: (answer: SessionAnswer) => void,
  ) {
    this.request = request;
    this.answer = answer;
    this.isPoll = !receive.isStream;
  }

  write(lines: string): void {
    if (this.isPoll) this.bytes = lines.length;
    if (lines !== KEEP_ALIVE) this.written++;
    this.answer({ answer: 'write', request: this.request, lines });
  }

  end(): void {
    this.answer({ answer: 'end', request: this.request });
  }

  break(): void {
    this.answer({ answer: 'break', request: this.request });
  }

  waitingBytes(): number {
    return this.bytes;
  }
}

/** Answers another loop that has requests of clients whose sessions live on this one. */
export class SessionHomeServer {
  private readonly home: LocalHome;
  private readonly answer: (answer: SessionAnswer) => void;
  private readonly receiving = new Map<number, { outlet: RemoteOutlet; ended: ResponseEnded }>();

  /** `answer` sends a message to the other loop. */
  constructor(home: LocalHome, answer: (answer: SessionAnswer) => void) {
    this.home = home;
    this.answer = answer;
  }

  /** Whether no response of the other loop is open. */
  get isIdle(): boolean {
    return this.receiving.size === 0;
  }

  /** Messages of the other loop may be missing, so its requests in progress are abandoned. */
  lost(): void {
    const abandoned = [...this.receiving];
    this.receiving.clear();
    for (const [request, { ended }] of abandoned) {
      ended('lost');
      // The other loop may have missed nothing, and would wait for lines.
      this.answer({ answer: 'break', request });
    }
  }

  asked(question: SessionQuestion): void {
    switch (question.ask) {
      case 'receive': {
        const { request, receive } = question;
        const outlet = new RemoteOutlet(question, this.answer);
        this.answer({ answer: 'received', request });
        this.receiving.set(request, { outlet, ended: this.home.receive(receive, outlet) });
        return;
      }
      case 'ended': {
        const { request, why, written } = question;
        const remote = this.receiving.get(request);
        if (remote === undefined) return;
        this.receiving.delete(request);
        const isLost = written !== undefined && written < remote.outlet.written;
        remote.ended(isLost ? 'lost' : why);
        return;
      }
      case 'waiting': {
        const remote = this.receiving.get(question.request);
        if (remote !== undefined) remote.outlet.bytes = question.bytes;
        return;
      }
      case 'app-of': {
        const { request, session } = question;
        return this.answer({ answer: 'app', request, app: this.home.appOf(session) });
      }
      case 'send':
        return this.home.send(question.send);
      case 'lost':
        return this.home.lost(question.session, question.why);
    }
  }
}
