import { Unreadable } from '../../../runtime/unreadable.ts';

/** A message of a stream, as the loop that has the connections sends it to others that follow the stream. */
export interface StreamMessage {
  /** The link, by its place in the list. */
  readonly link: number;
  readonly stream: string;
  readonly payload: string;
  /** How many loops of the process get it. */
  readonly loops: number;
}

/**
 * Encodes a message as text. Texts in a row are one text of several messages: between threads, a long text costs a third of
 * as many arrays.
 */
export function streamText({ link, stream, payload, loops }: StreamMessage): string {
  return `${link} ${loops} ${stream.length} ${payload.length} ${stream}${payload}`;
}

/** Decodes a text of several messages, in their order. Throws `Unreadable`. */
export function readStreamTexts(text: string, each: (message: StreamMessage) => void): void {
  let at = 0;
  const number = () => {
    let value = 0;
    const from = at;
    for (;;) {
      const digit = text.charCodeAt(at++) - DIGIT_0;
      if (digit >= 0 && digit <= 9) value = value * 10 + digit;
      else if (digit === SPACE - DIGIT_0 && at > from + 1) return value;
      else throw new Unreadable('It has too few numbers');
    }
  };
  while (at < text.length) {
    const link = number();
    const loops = number();
    const streamLength = number();
    const payloadLength = number();
    const stream = text.slice(at, at + streamLength);
    at += streamLength;
    const payload = ownText(text.slice(at, at + payloadLength));
    at += payloadLength;
    if (at > text.length) throw new Unreadable('It is cut off');
    each({ link, stream, payload, loops });
  }
}

/** Returns the same text with memory of its own: a slice keeps all that it was cut from. */
function ownText(text: string): string {
  return [text.slice(0, 1), text.slice(1)].join('');
}

const SPACE = 0x20;
const DIGIT_0 = 0x30;
