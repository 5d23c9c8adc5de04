/** What a fake gateway does with a request in place of what it would do. */
export type Act =
  /** Answers so. */
  | {
      readonly act: 'answer';
      readonly status: number;
      readonly fields?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Takes the request as always, and never answers. */
  | { readonly act: 'hang' }
  /** Takes nothing, and says so where the protocol can. */
  | { readonly act: 'turn-away' }
  /** Gives the request up, and does not say whether it took it. */
  | { readonly act: 'reset' }
  /** Ends the connection. */
  | { readonly act: 'cut' }
  /** Says goodbye: what it has begun it finishes; this request and later ones, it has not looked at. */
  | { readonly act: 'go-away' };

interface Scripted {
  readonly act: Act;
  times: number;
}

/** What is to go wrong: for one token, or for whichever requests come next. */
export class Script {
  private readonly forTokens = new Map<string, Scripted>();
  private readonly next: Scripted[] = [];
  /** How long each answer takes. */
  latencyMs = 0;

  /** From now on for this token, so many times; at first the last thing said. */
  forToken(token: string, act: Act, times = Number.POSITIVE_INFINITY): void {
    this.forTokens.set(token, { act, times });
  }

  /** For the next requests, whatever their token is. One after the other, in the order that they were said. */
  forNext(times: number, act: Act): void {
    this.next.push({ act, times });
  }

  /** Nothing goes wrong any more. */
  clear(): void {
    this.forTokens.clear();
    this.next.length = 0;
    this.latencyMs = 0;
  }

  /** What to do with a request, which counts as done; `undefined`: what is always done. */
  take(token: string): Act | undefined {
    const scripted = this.forTokens.get(token) ?? this.next[0];
    if (scripted === undefined) return undefined;
    scripted.times--;
    if (scripted.times <= 0) {
      if (scripted === this.next[0]) this.next.shift();
      else this.forTokens.delete(token);
    }
    return scripted.act;
  }
}
