import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import type { EventId } from '../history/event-id.ts';

/** A piece of a value: the remembered event of a cache channel, which grows. Positions and lengths are UTF-16 units. */
export interface Append {
  readonly app: App;
  /** A cache channel that is not encrypted. */
  readonly channel: ChannelName;
  /** The name of the event. */
  readonly name: string;
  readonly piece: Piece;
  /** The limit of the whole value, in bytes of UTF-8. */
  readonly bytesMax: number;
  /** The record of the event, if somebody watches the app. */
  readonly trace?: string | undefined;
}

export interface Piece {
  /** Names the value for clients: `isValueId`. */
  readonly id: string;
  /** Where the text goes; 0: the value begins anew. */
  readonly at: number;
  /** Has no half of a surrogate pair. */
  readonly text: string;
  /** Whether it is the last piece. */
  readonly isLast: boolean;
}

/** Whether this may name a value. Such a name needs no escapes in JSON. */
export function isValueId(id: unknown): id is string {
  return typeof id === 'string' && /^[\w-]{1,64}$/.test(id);
}

/** What became of a piece, or of the wish to stop a value. */
export type AppendOutcome =
  | {
      /** `repeated`: all of it is there already, so nobody was sent anything. */
      readonly result: 'sent' | 'repeated';
      /** Of the whole value. */
      readonly length: number;
      /** Whether the producer should stop. */
      readonly isStopped: boolean;
      /** Of the last piece, if the channel keeps a history. */
      readonly eventId?: EventId | undefined;
    }
  /** The position is beyond the end of the value. */
  | { readonly result: 'ahead'; readonly length: number }
  /** What is missing of the piece would begin within a surrogate pair. */
  | { readonly result: 'within-character' }
  | { readonly result: 'replaced'; readonly by: string }
  | { readonly result: 'ended' }
  /** No value of this id is remembered. To stop it, it must not have ended either. */
  | { readonly result: 'unknown' }
  | { readonly result: 'too-large' }
  /** Other values of the app, or of other apps, take all room there is. */
  | { readonly result: 'no-room' };

/** Why a piece was refused. */
export type AppendRefusal = Exclude<
  AppendOutcome,
  { readonly length: number; readonly isStopped: boolean }
>;

export function isRefused(outcome: AppendOutcome): outcome is AppendRefusal {
  return outcome.result !== 'sent' && outcome.result !== 'repeated';
}
