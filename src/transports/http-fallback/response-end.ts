/** Why a response did not get to its client: it reads too slowly, or its connection is gone. */
export type ResponseLoss = 'too-slow' | 'lost';

/** Called when a response has ended; `why`: unless the socket has taken all of it. */
export type ResponseEnded = (why?: ResponseLoss) => void;

/** Passes on that a response has ended, also if that comes before it is known whom to tell. */
export class ResponseEnd {
  private how: { readonly why: ResponseLoss | undefined } | undefined;
  private tell: ResponseEnded | undefined;

  get isOver(): boolean {
    return this.how !== undefined;
  }

  readonly ended: ResponseEnded = (why) => {
    this.how ??= { why };
    this.tell?.(why);
  };

  passTo(tell: ResponseEnded): void {
    this.tell = tell;
    if (this.how !== undefined) tell(this.how.why);
  }
}
