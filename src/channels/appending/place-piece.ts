import type { AppendRefusal, Piece } from './append.ts';
import { bytesInFrame } from './value-frames.ts';

/** What is known of a value without reading it. */
export interface ValueHead {
  readonly id: string;
  /** UTF-16 units. */
  readonly length: number;
  readonly bytes: number;
  /** What the text takes in a frame, where some characters are escaped. */
  readonly frameBytes: number;
  readonly hasEnded: boolean;
}

/** What a piece does to the value of its channel. */
export type Placed =
  /** The value is this piece from now on; or this text is added to it. */
  | { readonly does: 'begin' | 'add'; readonly text: string; readonly head: ValueHead }
  | { readonly does: 'repeat' }
  | { readonly does: 'refuse'; readonly refusal: AppendRefusal };

/** The limit of the text of a value in a frame. A value has at most a quarter of what may wait for a connection. */
export function frameBytesMax(bytesMax: number): number {
  return 4 * bytesMax;
}

/** Decides what a piece does, by its position. A piece may be repeated without harm. */
export function placePiece(head: ValueHead | undefined, piece: Piece, bytesMax: number): Placed {
  const { id, at, text, isLast } = piece;
  if (at === 0) return grown('begin', { id, length: 0, bytes: 0, frameBytes: 0 }, piece, bytesMax);
  if (head === undefined) return refuse({ result: 'unknown' });
  if (head.id !== id) return refuse({ result: 'replaced', by: head.id });
  const end = at + text.length;
  if (head.hasEnded) {
    return isLast && end === head.length ? { does: 'repeat' } : refuse({ result: 'ended' });
  }
  if (at > head.length) return refuse({ result: 'ahead', length: head.length });
  // An end is news even if its text is not.
  const isNew = end > head.length || at === head.length || (isLast && end === head.length);
  if (!isNew) return { does: 'repeat' };
  const rest = text.slice(head.length - at);
  if (!rest.isWellFormed()) return refuse({ result: 'within-character' });
  return grown('add', head, { ...piece, text: rest }, bytesMax);
}

function grown(
  does: 'begin' | 'add',
  before: Omit<ValueHead, 'hasEnded'>,
  { text, isLast }: Piece,
  bytesMax: number,
): Placed {
  const head = {
    id: before.id,
    length: before.length + text.length,
    bytes: before.bytes + Buffer.byteLength(text),
    frameBytes: before.frameBytes + bytesInFrame(text),
    hasEnded: isLast,
  };
  return head.bytes > bytesMax || head.frameBytes > frameBytesMax(bytesMax)
    ? refuse({ result: 'too-large' })
    : { does, text, head };
}

function refuse(refusal: AppendRefusal): Placed {
  return { does: 'refuse', refusal };
}
