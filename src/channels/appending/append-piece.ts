import type { App } from '../app.ts';
import type { ChannelName } from '../channel-name.ts';
import { ask } from '../engine-failure.ts';
import type { Hub } from '../hub.ts';
import { after, type MaybePromise } from '../maybe-promise.ts';
import { type Append, type AppendOutcome, isRefused, type Piece } from './append.ts';
import { pieceData } from './value-frames.ts';

type AppendingHub = Pick<Hub, 'authority' | 'meter' | 'turns' | 'historySendBytes'>;

/** A piece of a backend. */
export interface SentPiece {
  readonly app: App;
  readonly channel: ChannelName;
  readonly name: string;
  readonly piece: Piece;
  /** The key of the app that signed the request. */
  readonly key: string | undefined;
}

/** The limit of a value of an app. More than this, newcomers could not be sent at once. Bytes; 0: the app has no values. */
export function valueBytesMax(hub: Pick<Hub, 'historySendBytes'>, { limits }: App): number {
  return Math.min(limits.appendBytes, Math.floor(hub.historySendBytes / 2));
}

/** Sends a piece to all subscribers of its channel, which remembers the whole value. Push rules and webhooks see no pieces. */
export function appendPiece(
  hub: AppendingHub,
  { app, channel, name, piece, key }: SentPiece,
): MaybePromise<AppendOutcome> {
  const append: Append = {
    app,
    channel,
    name,
    piece,
    bytesMax: valueBytesMax(hub, app),
    trace: app.tap?.record({
      kind: 'api',
      channel: channel.text,
      event: name,
      data: pieceData(piece),
      except: undefined,
      key,
    }),
  };
  const appendNow = () => ask('append', () => hub.authority.append(append));
  const appended = hub.turns === undefined ? appendNow() : hub.turns.continue(appendNow);
  return after(appended, (outcome) => {
    const { result } = outcome;
    if (result === 'sent') hub.meter.count('eventsPublished');
    hub.meter.count('appends', 1, isRefused(outcome) ? 'refused' : outcome.result);
    return outcome;
  });
}

/** Asks the producer of a value to stop. */
export function stopValue(
  { authority }: Pick<Hub, 'authority'>,
  { app, channel, id }: { readonly app: App; readonly channel: ChannelName; readonly id: string },
): MaybePromise<AppendOutcome> {
  return ask('stopValue', () => authority.stopValue(app, channel, id));
}
