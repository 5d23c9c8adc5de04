import type { ChannelText } from '../channel-name.ts';
import { eventMessage } from '../wire.ts';
import type { Piece } from './append.ts';

/** What clients get of values: events whose data the server makes. Ids need no escapes. */

/** The data of a piece, or of the whole value if it is at 0. */
export function pieceData({ id, at, text, isLast }: Piece): string {
  const end = isLast ? ',"end":true}' : '}';
  return `{"id":"${id}","at":${at},"text":${JSON.stringify(text)}${end}`;
}

/** A text as it stands in a frame: within JSON within JSON. Texts that are joined in this form are joined values. */
export function textInFrame(text: string): string {
  return JSON.stringify(JSON.stringify(text)).slice(3, -3);
}

/** Reads `textInFrame`. */
export function readTextInFrame(text: string): string {
  return String(JSON.parse(JSON.parse(`"\\"${text}\\""`)));
}

export function bytesInFrame(text: string): number {
  return Buffer.byteLength(textInFrame(text));
}

/** The frame of a whole value that has ended, before and after its text. */
export function endedValueFrame(
  name: string,
  channel: ChannelText,
  id: string,
): readonly [before: string, after: string] {
  const frame = eventMessage(name, channel, pieceData({ id, at: 0, text: '', isLast: true }));
  const after = '\\",\\"end\\":true}"}';
  return [frame.slice(0, -after.length), after];
}
