import type { ChannelName } from '../../channels/channel-name.ts';
import type { Hub } from '../../channels/hub.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import { admitReader, type NotAdmitted } from '../../channels/subscribing/admit-reader.ts';
import { KeysUnavailable } from '../../channels/users/presented-user.ts';
import type { ApiRefusal } from '../channels-api/problems.ts';
import { Unauthenticated } from '../channels-api/unauthenticated.ts';
import type { ReaderConnection } from './reader-connection.ts';

/** Tokens that may wait on this loop before readers are sent away: their requests are no connections yet, which are bounded. */
const WAITING_MAX = 1_000;

export interface PresentedToken {
  readonly token: string;
  readonly channels: readonly ChannelName[];
  /** Of the request. */
  readonly signal: AbortSignal;
}

/** Lets a reader in by its token; or returns why not. `'later'`: nobody can say now. */
export function takeToken(
  hub: Hub,
  connection: ReaderConnection,
  { token, channels, signal }: PresentedToken,
): MaybePromise<ApiRefusal | 'later' | undefined> {
  if (hub.tokenTurns.size >= WAITING_MAX) return 'later';
  const admitted = admitReader(hub, connection, { token, channels });
  if (!(admitted instanceof Promise)) return refusalOf(admitted);
  const gone = Promise.withResolvers<'later'>();
  const leave = () => {
    connection.closed = true;
    hub.tokenTurns.forget(connection);
    // Nobody reads the answer.
    gone.resolve('later');
  };
  signal.addEventListener('abort', leave, { once: true });
  const decided = admitted.then(refusalOf, (error) => {
    if (error instanceof KeysUnavailable) return 'later' as const;
    throw error;
  });
  return Promise.race([decided, gone.promise]).finally(() =>
    signal.removeEventListener('abort', leave),
  );
}

function refusalOf(refused: NotAdmitted | undefined): ApiRefusal | undefined {
  if (refused === undefined) return undefined;
  const { channel } = refused;
  return channel === undefined
    ? new Unauthenticated('token', refused.why)
    : new Unauthenticated('not-covered', `${channel.text}: the token does not cover it`);
}
