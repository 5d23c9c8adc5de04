import type { ResponseLoss } from '../response-end.ts';
import type { Loss, ReceiveRequest, SessionSendRequest } from './session-home.ts';

/**
 * The messages between the loop where a session lives and a loop that has a request of its client. `request` is the
 * asking loop's number for the request.
 */
export type SessionMessage = { readonly type: 'session' } & (SessionQuestion | SessionAnswer);

/** To the loop where the session lives. */
export type SessionQuestion =
  | { readonly ask: 'receive'; readonly request: number; readonly receive: ReceiveRequest }
  /**
   * The response has ended; `why`: unless the socket has taken all of it. `written`: how many times messages were written
   * to it; servers of 0.1 do not say so.
   */
  | {
      readonly ask: 'ended';
      readonly request: number;
      readonly why?: ResponseLoss;
      readonly written?: number;
    }
  /** Bytes that the client has not taken yet. */
  | { readonly ask: 'waiting'; readonly request: number; readonly bytes: number }
  | { readonly ask: 'app-of'; readonly request: number; readonly session: string }
  | { readonly ask: 'send'; readonly send: SessionSendRequest }
  | { readonly ask: 'lost'; readonly session: string; readonly why: Loss };

/** To the loop that has the request. */
export type SessionAnswer =
  /** The home has received the request. */
  | { readonly answer: 'received'; readonly request: number }
  | { readonly answer: 'write'; readonly request: number; readonly lines: string }
  | { readonly answer: 'end'; readonly request: number }
  | { readonly answer: 'break'; readonly request: number }
  | { readonly answer: 'app'; readonly request: number; readonly app: string | undefined };

export function isQuestion(
  message: SessionMessage,
): message is { readonly type: 'session' } & SessionQuestion {
  return 'ask' in message;
}
