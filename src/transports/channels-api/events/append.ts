import type { AppendRefusal } from '../../../channels/appending/append.ts';
import { isRefused } from '../../../channels/appending/append.ts';
import { appendPiece, stopValue, valueBytesMax } from '../../../channels/appending/append-piece.ts';
import type { ChannelName } from '../../../channels/channel-name.ts';
import { after, type MaybePromise } from '../../../channels/maybe-promise.ts';
import type { Answer, Call } from '../call.ts';
import { ApiRefusal, invalid } from '../problems.ts';
import type { AppendRequest } from './read-append.ts';

/** An event that is a piece of a value, and counted already. */
export interface AppendTrigger {
  readonly name: string;
  readonly channel: ChannelName;
  readonly append: AppendRequest;
}

/** Adds a piece to a value, or asks its producer to stop. Answers with the length of the value. */
export function append(
  { hub, app, key }: Call,
  { name, channel, append }: AppendTrigger,
): MaybePromise<Answer> {
  const id = append.wants === 'piece' ? append.piece.id : append.id;
  const outcome =
    append.wants === 'piece'
      ? appendPiece(hub, { app, channel, name, piece: append.piece, key })
      : stopValue(hub, { app, channel, id });
  return after(outcome, (found) => {
    if (isRefused(found)) {
      return refusalOf(found, { id, wants: append.wants, bytesMax: valueBytesMax(hub, app) });
    }
    const { length, eventId, isStopped } = found;
    // Neither names of channels nor ids need escapes.
    const ids = eventId === undefined ? '' : `,"event_ids":{"${channel.text}":"${eventId}"}`;
    return { json: `{"length":${length}${ids}${isStopped ? ',"stop":true' : ''}}` };
  });
}

interface Refused {
  readonly id: string;
  readonly wants: AppendRequest['wants'];
  readonly bytesMax: number;
}

function refusalOf(refusal: AppendRefusal, { id, wants, bytesMax }: Refused): ApiRefusal {
  switch (refusal.result) {
    case 'ahead':
      return invalid(`append.at: ${id} has ${refusal.length} characters`);
    case 'within-character':
      return invalid(`append.at: the end of ${id} is within a character of this piece`);
    case 'replaced':
      return new ApiRefusal('value-over', `append: ${refusal.by} has replaced ${id}`);
    case 'ended':
      return new ApiRefusal('value-over', `append: ${id} has ended`);
    case 'unknown':
      return new ApiRefusal(
        'value-unknown',
        wants === 'stop'
          ? `append: no value ${id} that grows`
          : `append: no value ${id}, send it again from 0`,
      );
    case 'too-large':
      return new ApiRefusal(
        'value-too-large',
        `append: a value may have at most ${bytesMax} bytes, and four times as many in a frame`,
      );
    case 'no-room':
      return new ApiRefusal('value-too-large', `append: the server has no room for more of ${id}`);
    default:
      return refusal satisfies never;
  }
}
