import { ResponseBody } from './response-body.ts';
import type { UnreadAnswer, UnreadAnswers } from './unread-answers.ts';

export interface HeldResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The owner of the response, whose memory it takes until the socket has taken it. */
  readonly owner: string;
  readonly unread: UnreadAnswers;
}

/** Makes a long response, whose bytes belong to its owner until the socket has taken them; `undefined`: there is no room. */
export function heldResponse(
  parts: readonly string[],
  { status, headers, owner, unread }: HeldResponse,
): Response | undefined {
  const body = new ResponseBody(() => unread.release(answer));
  const answer: UnreadAnswer = {
    owner,
    waitingBytes: () => body.waitingBytes,
    break: () => body.break(),
  };
  for (const part of parts) body.write(part);
  body.end();
  return unread.hold(answer) ? new Response(body.stream, { status, headers }) : undefined;
}

/** The bytes that parts of a text take as UTF-8. */
export function bytesOf(parts: readonly string[]): number {
  return parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
}
